import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openSqlite } from '../../lib/stores/sqlite/open.ts'
import { headgate } from '../support/command.ts'

t.test('keys are created, listed and revoked, and printed only once', async t => {
  const directory = t.testdir()
  const made = await headgate(t, [
    'keys', 'create', '--name', 'ci', '--endpoints', 'chat', '--models', 'sandbox/*', '--expires', '30d', '--json',
    '--requests-per-minute', '60', '--tokens-per-minute', '100000', '--concurrent-calls', '8', '--budget', '20.5/month'
  ], directory)
  t.equal(made.code, 0)
  const { id, key }: { id: string, key: string } = JSON.parse(made.out)
  const list = await headgate(t, ['keys', 'list', '--json'], directory)
  t.match(JSON.parse(list.out), [
    { id, name: 'ci', status: 'active', endpoints: ['chat'], models: ['sandbox/*'], expiresAtMs: Number, limits: { requestsPerMinute: 60, tokensPerMinute: 100_000, concurrentCalls: 8, budget: { usd: 20.5, per: 'month' } } }
  ])
  t.notMatch(list.out, key)
  t.match(made.error, `warning: created a new store at ${join(directory, '.headgate/headgate.db')}. Only a gateway`)
  const second = await headgate(t, ['keys', 'create', '--name', 'second', '--requests-per-minute', '7', '--tokens-per-minute', '8', '--concurrent-calls', '9', '--mcp-servers', 'acme/tickets,acme/files', '--mcp-servers', 'b/c', '--no-mcp-urls', '--provider-objects'], directory)
  t.equal(second.error, '', 'the store is there by now')
  t.match(await headgate(t, ['keys', 'list'], directory), { out: /second .*requests_per_minute=7,tokens_per_minute=8,concurrent_calls=9 +all +all +acme\/tickets,acme\/files,b\/c +no +yes$/m })
  t.match(JSON.parse((await headgate(t, ['keys', 'list', '--json'], directory)).out), [
    {}, { name: 'second', mcpServers: ['acme/tickets', 'acme/files', 'b/c'], mcpUrls: false, providerObjects: true }
  ])
  t.match(await headgate(t, ['keys', 'create', '--name', 'ci'], directory), { code: 1, error: /a key named "ci" already/ })
  t.match(await headgate(t, ['keys', 'revoke', 'ci'], directory), { code: 0, out: new RegExp(id) })
  t.match(await headgate(t, ['keys', 'revoke', 'ci'], directory), { code: 1, error: /no active key/ })
  const database = await openSqlite(join(directory, '.headgate'))
  const acts = await database.query.selectFrom('audit').selectAll().orderBy('at_ms').execute()
  await database.close()
  t.match(acts, [
    { actor: 'command line', action: 'key.create', subject: id, subject_name: 'ci' }, { action: 'key.create', subject_name: 'second' }, { actor: 'command line', action: 'key.revoke', subject: id }
  ])
  t.notMatch(JSON.stringify(acts), key)
  t.match(await headgate(t, ['keys', 'list'], directory), { code: 0, out: /ci +revoked +\S+ +requests_per_minute=60,tokens_per_minute=100000,concurrent_calls=8,budget=20.5\/month +chat/ })
})

t.test('keys with invalid options are not created', async t => {
  const directory = t.testdir()
  const invalid = [
    ['--expires', 'soon'], ['--expires', '2001-01-01'], ['--expires', '2099-02-31'], ['--endpoints', 'cha'], ['--models', 'openai/gpt-*'], ['--models', ''], ['--mcp-servers', 'tickets'],
    ['--requests-per-minute', '0'], ['--tokens-per-minute', 'many'], ['--concurrent-calls', '1.5'], ['--budget', '20'], ['--budget', '0/day'], ['--budget', '5/year']
  ]
  for (const args of [[], ['--name', ' '], ...invalid.map(options => ['--name', 'a', ...options])]) {
    t.equal((await headgate(t, ['keys', 'create', ...args], directory)).code, 2, args.join(' '))
  }
  t.match(await headgate(t, ['keys', 'create', '--name', 'a', '--endpoints', 'ebmeddings'], directory), {
    error: /unknown endpoint "ebmeddings"; did you mean "embeddings"\?/
  })
  t.notOk(existsSync(join(directory, '.headgate')), 'the store was not even opened')
})
