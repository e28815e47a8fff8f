import { join } from 'node:path'
import t from 'tap'
import { Accounts } from '../../lib/accounts/accounts.ts'
import { openSqlite } from '../../lib/stores/sqlite/open.ts'
import { headgate } from '../support/command.ts'

t.test('a link signs the owner in and is recorded in the audit log', async t => {
  const directory = t.testdir({ 'headgate.yaml': 'server: { public_url: https://ai.example.com/ }\n' })
  const first = await headgate(t, ['dashboard', 'link'], directory)
  t.match(first, {
    code: 0,
    out: /^No gateway runs here with the data directory .*\.headgate: .*\nhttps:\/\/ai\.example\.com\/dashboard\/#\/link\/[\w-]{43}$/
  })
  const second = await headgate(t, ['dashboard', 'link'], directory)
  const database = await openSqlite(join(directory, '.headgate'))
  const { users, links, audit } = new Accounts(database)
  t.teardown(database.close)
  const [old, token] = [first, second].map(({ out }) => out.split('/').at(-1) ?? '')
  t.equal(await links.useSignIn(old ?? ''), undefined, 'the previous link is invalid')
  t.equal(await links.useSignIn(token ?? ''), (await users.firstOwner())?.id)
  const { data } = await audit.list({}, { limit: 10 })
  t.same(
    data.map(({ action, actor }) => [action, actor]),
    [
      ['link.create', 'command line'],
      ['link.create', 'command line']
    ]
  )
  t.notMatch(JSON.stringify(data), token)
})

t.test('it requires an existing user and a served dashboard', async t => {
  const directory = t.testdir({ 'headgate.yaml': '' })
  t.match(await headgate(t, ['dashboard', 'link', '--user', 'no@example.com'], directory), {
    code: 1,
    error: /no active user has the email/
  })
  t.match(await headgate(t, ['dashboard'], directory), { code: 2, error: /use "headgate dashboard link"/ })
  const off = t.testdir({
    off: { 'headgate.yaml': 'dashboard: false\n' },
    open: { 'headgate.yaml': 'server: { host: 0.0.0.0 }\n' }
  })
  t.match(await headgate(t, ['dashboard', 'link'], join(off, 'off')), {
    code: 1,
    error: /serves no dashboard/
  })
  t.match(await headgate(t, ['dashboard', 'link'], join(off, 'open')), {
    code: 1,
    error: /server\.host.*needs TLS/
  })
})
