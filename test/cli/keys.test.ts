import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openSqlite } from '../../lib/stores/sqlite/open.ts'
import { headgate } from '../support/command.ts'

t.test('keys are created, listed and revoked, and shown only once', async t => {
  const directory = t.testdir()
  const made = await headgate(
    t,
    [
      'keys',
      'create',
      '--name',
      'ci',
      '--endpoints',
      'chat',
      '--models',
      'sandbox/*',
      '--expires',
      '30d',
      '--json',
      '--requests-per-minute',
      '60',
      '--tokens-per-minute',
      '100000',
      '--concurrent-calls',
      '8',
      '--budget',
      '20.5/month'
    ],
    directory
  )
  t.equal(made.code, 0)
  const { id, key }: { id: string, key: string } = JSON.parse(made.out)
  const list = await headgate(t, ['keys', 'list', '--json'], directory)
  t.match(JSON.parse(list.out), [
    {
      id,
      name: 'ci',
      status: 'active',
      endpoints: ['chat'],
      models: ['sandbox/*'],
      expiresAtMs: Number,
      limits: {
        requestsPerMinute: 60,
        tokensPerMinute: 100_000,
        concurrentCalls: 8,
        budget: { usd: 20.5, per: 'month' }
      }
    }
  ])
  t.notMatch(list.out, key)
  t.match(
    made.error,
    `warning: created a new store at ${join(directory, '.headgate/headgate.db')}. Only a gateway`
  )
  const second = await headgate(
    t,
    [
      'keys',
      'create',
      '--name',
      'second',
      '--requests-per-minute',
      '7',
      '--tokens-per-minute',
      '8',
      '--concurrent-calls',
      '9',
      '--mcp-servers',
      'acme/tickets,acme/files',
      '--mcp-servers',
      'b/c',
      '--no-mcp-urls',
      '--provider-objects',
      '--stages',
      'pii'
    ],
    directory
  )
  t.match(second.error, 'warning: --stages pii is not the name of a guard in stages')
  t.notMatch(second.error, 'created a new store', 'by now the store exists')
  t.match(await headgate(t, ['keys', 'list'], directory), {
    out: /second .*requests_per_minute=7,tokens_per_minute=8,concurrent_calls=9 +all +all +acme\/tickets,acme\/files,b\/c +no +yes$/m
  })
  t.match(JSON.parse((await headgate(t, ['keys', 'list', '--json'], directory)).out), [
    {},
    {
      name: 'second',
      mcpServers: ['acme/tickets', 'acme/files', 'b/c'],
      mcpUrls: false,
      providerObjects: true,
      stages: ['pii']
    }
  ])
  t.match(await headgate(t, ['keys', 'create', '--name', 'ci'], directory), {
    code: 1,
    error: /a key named "ci" already/
  })
  t.match(await headgate(t, ['keys', 'revoke', 'ci'], directory), { code: 0, out: new RegExp(id) })
  t.match(await headgate(t, ['keys', 'revoke', 'ci'], directory), { code: 1, error: /no active key/ })
  const database = await openSqlite(join(directory, '.headgate'))
  const acts = await database.query.selectFrom('audit').selectAll().orderBy('at_ms').execute()
  await database.close()
  t.match(acts, [
    { actor: 'command line', action: 'key.create', subject: id, subject_name: 'ci' },
    { action: 'key.create', subject_name: 'second' },
    { actor: 'command line', action: 'key.revoke', subject: id }
  ])
  t.notMatch(JSON.stringify(acts), key)
  t.match(await headgate(t, ['keys', 'list'], directory), {
    code: 0,
    out: /ci +revoked +\S+ +\$0\.0000 +requests_per_minute=60,tokens_per_minute=100000,concurrent_calls=8,budget=20.5\/month +chat/
  })
})

t.test('keys with invalid options are refused', async t => {
  const directory = t.testdir()
  const invalid = [
    ['--expires', 'soon'],
    ['--expires', '2001-01-01'],
    ['--expires', '2099-02-31'],
    ['--endpoints', 'cha'],
    ['--models', 'openai/gpt-*'],
    ['--models', ''],
    ['--mcp-servers', 'tickets'],
    ['--unpriced', 'allow'],
    ['--strict'],
    ['--no-strict'],
    ['--budget', '5/day', '--unpriced', 'maybe'],
    ['--requests-per-minute', '0'],
    ['--requests-per-minute', '1000001'],
    ['--tokens-per-minute', 'many'],
    ['--concurrent-calls', '1.5'],
    ['--budget', '20'],
    ['--budget', '0/day'],
    ['--budget', '5/year']
  ]
  const badNames = [[], ['--name', ' '], ['--name', 'a'.repeat(101)]]
  for (const args of [...badNames, ...invalid.map(options => ['--name', 'a', ...options])]) {
    t.equal((await headgate(t, ['keys', 'create', ...args], directory)).code, 2, args.join(' '))
  }
  t.match(await headgate(t, ['keys', 'create', '--name', 'a', '--endpoints', 'ebmeddings'], directory), {
    error: /unknown endpoint "ebmeddings"; did you mean "embeddings"\?/
  })
  t.notOk(existsSync(join(directory, '.headgate')), 'the store was not even opened')
})

t.test('a budget may allow models without a price, and unlimited output', async t => {
  const directory = t.testdir()
  t.match(
    await headgate(
      t,
      ['keys', 'create', '--name', 'a', '--budget', '0.05/day', '--unpriced', 'allow', '--no-strict'],
      directory
    ),
    { code: 0 }
  )
  t.match(
    await headgate(
      t,
      ['keys', 'create', '--name', 'b', '--budget', '1/total', '--unpriced', 'refuse', '--strict'],
      directory
    ),
    { code: 0 }
  )
  t.match(JSON.parse((await headgate(t, ['keys', 'list', '--json'], directory)).out), [
    { limits: { budget: { usd: 0.05, per: 'day', unpriced: 'allow' }, strict: false } },
    { limits: { budget: { usd: 1, per: 'total', unpriced: 'refuse' }, strict: true } }
  ])
  t.match(await headgate(t, ['keys', 'list'], directory), {
    out: /budget=0\.05\/day,unpriced=allow,strict=false /
  })
  t.match(await headgate(t, ['keys', 'create', '--name', 'c', '--unpriced', 'allow'], directory), {
    code: 2,
    error: /--unpriced needs a budget/
  })
})

t.test('a name has at most 100 characters, also when it changes', async t => {
  const directory = t.testdir()
  const longest = '😀'.repeat(100)
  t.equal((await headgate(t, ['keys', 'create', '--name', longest], directory)).code, 0)
  t.match(await headgate(t, ['keys', 'update', longest, '--name', 'a'.repeat(101)], directory), {
    code: 2, error: /--name NAME is required, with at most 100 characters/
  })
})

t.test('a key has several budgets with periods, time zones and durations', async t => {
  const directory = t.testdir()
  const budgets = ['--budget', '5/day@Europe/Berlin', '--budget', '50/30d@2030-01-15T00:00:00Z']
  t.match(await headgate(t, ['keys', 'create', '--name', 'a', ...budgets], directory), { code: 0 })
  t.match(JSON.parse((await headgate(t, ['keys', 'list', '--json'], directory)).out), [
    {
      limits: {
        budgets: [
          { usd: 5, per: 'day', timeZone: 'Europe/Berlin' },
          { usd: 50, every: '30d', from: '2030-01-15T00:00:00Z' }
        ]
      }
    }
  ])
  t.match(await headgate(t, ['keys', 'list'], directory), {
    out: /budget=5\/day@Europe\/Berlin,budget=50\/30d@2030-01-15T00:00:00Z /
  })
  for (const text of [
    '5/30d',
    '5/30d@Europe/Berlin',
    '5/30x@2030-01-15T00:00:00Z',
    '5/30d@2030-02-31T00:00:00Z',
    '5/30d@2030-01-31T25:00:00Z',
    '5/day@2030-01-15T00:00:00Z'
  ]) {
    t.match(await headgate(t, ['keys', 'create', '--name', 'b', '--budget', text], directory), {
      code: 2,
      error: /--budget must be dollars and a period/
    })
  }
})

t.test(
  'a key for unknown models or tool servers is created with the warnings of headgate check',
  async t => {
    const directory = t.testdir({
      'headgate.yaml': `providers: {openai: {api_key: env:KEY}, own: {enabled: false, base_url: 'http://127.0.0.1:1'}}
routes: {fast: [openai/gpt-5]}
mcp_servers: {acme/tickets: {url: 'http://127.0.0.1:1'}}`
    })
    const create = async (name: string, ...options: string[]): Promise<string> => {
      const { code, error } = await headgate(t, ['keys', 'create', '--name', name, ...options], directory, {
        KEY: 'sk'
      })
      t.equal(code, 0)
      return error
    }
    t.same(
      (
        await create(
          'a',
          '--models',
          'openai/*,beta/zzz,opneai/gpt-5,openai/gpt-55',
          '--mcp-servers',
          'acme/tickest,*'
        )
      )
        .split('\n')
        .filter(line => !line.includes('a new store')),
      [
        'warning: --models beta/zzz names a provider that is not configured',
        'warning: --models opneai/gpt-5 names a provider that is not configured; did you mean openai/gpt-5?',
        'warning: --models openai/gpt-55 is not in the catalogue; its provider may know it; did you mean openai/gpt-5?',
        'warning: --mcp-servers acme/tickest is not in mcp_servers; did you mean acme/tickets?'
      ]
    )
    t.equal(await create('b', '--models', 'fast,gpt-5,own/x,*', '--mcp-servers', 'acme/tickets'), '')
  }
)

t.test('a key is shown, updated in the given fields, and rotated with an overlap', async t => {
  const directory = t.testdir()
  const { key } = JSON.parse(
    (
      await headgate(
        t,
        [
          'keys',
          'create',
          '--name',
          'ci',
          '--models',
          'sandbox/*',
          '--budget',
          '20/month',
          '--requests-per-minute',
          '60',
          '--json'
        ],
        directory
      )
    ).out
  )
  t.match(
    await headgate(
      t,
      ['keys', 'update', 'ci', '--models', 'openai/*', '--requests-per-minute', '90', '--expires', '30d'],
      directory
    ),
    { code: 0, out: /^Changed "ci"/ }
  )
  const shown = async (): Promise<object> =>
    JSON.parse((await headgate(t, ['keys', 'show', 'ci', '--json'], directory)).out) as object
  t.match(await shown(), {
    name: 'ci',
    models: ['openai/*'],
    limits: { requests_per_minute: 90, budget: { usd: 20, per: 'month' } },
    expires_at_ms: Number,
    spent_usd: 0
  })
  await headgate(
    t,
    [
      'keys',
      'update',
      'ci',
      '--name',
      'deploy',
      '--budget',
      '1/day',
      '--budget',
      '5/week',
      '--endpoints',
      'chat'
    ],
    directory
  )
  const [listed] = JSON.parse((await headgate(t, ['keys', 'list', '--json'], directory)).out)
  t.match(listed, {
    name: 'deploy',
    endpoints: ['chat'],
    models: ['openai/*'],
    spentUsd: 0,
    limits: {
      requestsPerMinute: 90,
      budget: undefined,
      budgets: [
        { usd: 1, per: 'day' },
        { usd: 5, per: 'week' }
      ]
    }
  })
  t.match(await headgate(t, ['keys', 'show', 'deploy'], directory), {
    out: /^NAME +deploy$[^]*^SPENT +\$0\.0000$/m
  })
  const rotated = await headgate(t, ['keys', 'rotate', 'deploy', '--overlap', '24h', '--json'], directory)
  const second = JSON.parse(rotated.out).key as string
  t.match(second, /^hg_/)
  t.not(second, key)
  const database = await openSqlite(join(directory, '.headgate'))
  const row = await database.query
    .selectFrom('keys')
    .select(['previous_until_ms', 'limits'])
    .executeTakeFirstOrThrow()
  const actions = (await database.query.selectFrom('audit').select('action').orderBy('at_ms').execute()).map(
    ({ action }) => action
  )
  await database.close()
  t.ok(Math.abs((row.previous_until_ms ?? 0) - Date.now() - 86_400_000) < 60_000)
  t.same(actions, ['key.create', 'key.update', 'key.update', 'key.rotate'])
  for (const [args, expected] of [
    [['update'], { code: 2, error: /id or name of a key is required/ }],
    [['update', 'nobody', '--name', 'x'], { code: 1, error: /no active key/ }],
    [['rotate', 'deploy', '--overlap', 'soon'], { code: 2 }],
    [['rotate', 'deploy', '--overlap', '31d'], { code: 2 }],
    [['show', 'nobody'], { code: 1, error: /no key has/ }],
    [['show'], { code: 2 }]
  ] as const) {
    t.match(await headgate(t, ['keys', ...args], directory), expected, args.join(' '))
  }
})

t.test('a key has soft and hard budgets, and an owner who must exist', async t => {
  const directory = t.testdir()
  t.match(
    await headgate(
      t,
      [
        'keys',
        'create',
        '--name',
        'a',
        '--budget',
        '5/day',
        '--soft-budget',
        '3/day',
        '--soft-budget',
        '50/month'
      ],
      directory
    ),
    { code: 0 }
  )
  t.match(await headgate(t, ['keys', 'list'], directory), {
    out: /budget=5\/day,soft_budget=3\/day,soft_budget=50\/month/
  })
  t.match(await headgate(t, ['keys', 'create', '--name', 'b', '--soft-budget', 'much'], directory), {
    code: 2,
    error: /--soft-budget must be dollars and a period/
  })
  t.match(await headgate(t, ['keys', 'update', 'a', '--owner', 'ada@example.com'], directory), {
    code: 1,
    error: /--owner: no user has the email ada@example\.com/
  })
})

t.test('a name with spaces that is not quoted changes no other key', async t => {
  const directory = t.testdir()
  await headgate(t, ['keys', 'create', '--name', 'team'], directory)
  for (const [action, ...rest] of [
    ['revoke', 'team', 'alpha'],
    ['create', '--name', 'a', 'b'],
    ['list', 'x']
  ]) {
    t.match(await headgate(t, ['keys', action ?? '', ...rest], directory), {
      code: 2,
      error: new RegExp(`unexpected argument "${rest.at(-1)}"`)
    })
  }
  t.match(await headgate(t, ['keys', 'list'], directory), { out: /team +active/ })
})
