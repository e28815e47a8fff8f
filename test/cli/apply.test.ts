import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { adminGateway } from '../support/admin.ts'
import { headgate } from '../support/command.ts'
import { closedUrl } from '../support/closed-port.ts'
import { ask, directoryOf, launch, startGateway } from '../support/headgate.ts'
import type { GuardSettings, Settings } from '../../lib/core/settings.ts'
import type { Key } from '../../schemas/admin/keys.ts'
import type { Project } from '../../schemas/admin/organisation.ts'

const adminKey = 'hga_an-admin-key-of-the-environment'

async function gateway (t: Test, parts: Partial<Settings> = {}) {
  const gateway = await adminGateway(t, {
    ...parts,
    adminKey: new Secret(adminKey),
    keys: [{ name: 'configured', key: new Secret('a-key-of-the-configuration') }]
  })
  // The store is in the directory of the test.
  const directory = mkdtempSync(join(tmpdir(), 'headgate-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  return {
    ...gateway,
    directory,
    /** Runs the command for a file, in the directory of the test. */
    apply: async (file: object | string, ...args: readonly string[]) => {
      writeFileSync(
        join(directory, 'organisation.yaml'),
        typeof file === 'string' ? file : JSON.stringify(file)
      )
      return await headgate(
        t,
        ['apply', '-f', 'organisation.yaml', '--url', gateway.api.url, ...args],
        directory,
        { HEADGATE_ADMIN_KEY: adminKey }
      )
    },
    listed: async () => {
      const page = { limit: 200 }
      const keys = await gateway.admin.keys.list(
        { projects: undefined, status: 'active', search: undefined },
        page
      )
      return {
        keys: keys.data,
        projects: (await gateway.admin.accounts.projects.list(page, undefined)).data
      }
    }
  }
}

const nothing = { code: 0, out: 'Nothing differs from the file.', error: '' }

t.test(
  'a file is planned, applied and then unchanged; later drift is shown and reverted',
  async t => {
    const { apply, listed, keys, user, admin } = await gateway(t)
    const { user: ada } = await user('member')
    const email = ada.email ?? ''
    const file = {
      projects: [
        {
          name: 'search',
          models: ['openai/*'],
          limits: { budget: { usd: 500 } },
          members: [email.toUpperCase()]
        }
      ],
      keys: [
        {
          name: 'web',
          project: 'search',
          endpoints: ['chat'],
          limits: { requests_per_minute: 60 },
          expires_at: '2099-12-31'
        },
        { name: 'batch' }
      ]
    }
    const planned = await apply(file, '--plan')
    t.equal(planned.code, 3)
    t.same(
      planned.out.split('\n').map(line => line.split(/ {2,}/)),
      [
        [
          'create',
          'project',
          'search',
          'models: ["openai/*"], limits: {"budget":{"per":"month","usd":500}}'
        ],
        ['add', 'member', `${email} of search`],
        [
          'create',
          'key',
          'web',
          'project: "search", endpoints: ["chat"], limits: {"requests_per_minute":60}, expires_at_ms: 4102358400000'
        ],
        ['create', 'key', 'batch'],
        ['4 changes.']
      ]
    )
    t.same((await listed()).projects.length, 1, 'nothing was created')

    const applied = await apply(file)
    t.equal(applied.code, 0, applied.error)
    const secret = /^key web: (hg_\S+) \(shown once\)$/m.exec(applied.out)?.[1] ?? ''
    const { projects, keys: made } = await listed()
    const search = projects.find(({ name }) => name === 'search')
    t.match(search, { models: ['openai/*'], limits: { budget: { usd: 500, per: 'month' } }, members: 1 })
    t.match(keys.check(secret), { name: 'web', endpoints: ['chat'], limits: { requestsPerMinute: 60 } })
    t.match(
      made.find(({ name }) => name === 'web'),
      { project_id: search?.id, expires_at_ms: Date.UTC(2099, 11, 31) }
    )
    t.equal(made.find(({ name }) => name === 'batch')?.project_id, 'default')
    t.same(await apply(file), nothing)
    t.same(await apply(file, '--plan'), nothing)

    const web = made.find(({ name }) => name === 'web') as Key
    await admin.keys.update(web, { limits: null, mcp_servers: ['acme/tools'] }, true)
    await admin.accounts.users.leave(ada.id, (search as Project).id)
    const drift = await apply(file, '--plan')
    t.equal(drift.code, 3)
    t.match(drift.out, /^change +key +web +limits: null → \{"requests_per_minute":60\}$/m)
    t.match(drift.out, /^add +member/m)
    t.equal((await apply(file)).code, 0)
    t.match(
      (await listed()).keys.find(({ name }) => name === 'web'),
      {
        limits: { requests_per_minute: 60 },
        mcp_servers: ['acme/tools'],
        endpoints: ['chat']
      },
      'a field that the file omits stays'
    )
    t.same(
      await apply({
        keys: [{ name: 'web', limits: null, unset: ['mcp_servers', 'endpoints', 'expires_at'] }]
      }).then(({ code }) => code),
      0
    )
    t.match(
      (await listed()).keys.find(({ name }) => name === 'web'),
      { limits: { requests_per_minute: 60 }, mcp_servers: null, endpoints: null, expires_at_ms: null },
      'an empty entry does not count'
    )
    const asByDefault = { keys: [{ name: 'web', unset: ['mcp_urls'] }] }
    t.same(await apply({ keys: [{ name: 'web', mcp_urls: false }] }).then(({ code }) => code), 0)
    t.match(await apply(asByDefault), { code: 0, out: /mcp_urls: false → null$/m })
    t.match(await apply(asByDefault), { out: /Nothing differs from the file\.$/ })
  }
)

t.test('limits are compared in normalized form', async t => {
  const { apply } = await gateway(t)
  const budgets = [
    { usd: 3, every: '5h', from: '2030-01-31T00:00:00Z' },
    { usd: 20, per: 'week', time_zone: 'Europe/Berlin', unpriced: 'allow' }
  ]
  const file = {
    keys: [
      { name: 'a', limits: { budget: { usd: 1 }, strict: false } },
      { name: 'b', limits: { strict: true, budgets } },
      { name: 'c', limits: {} },
      { name: 'd', unset: ['limits', 'expires_at'], provider_objects: true, models: [] }
    ]
  }
  t.equal((await apply(file)).code, 0)
  t.same(await apply(file), nothing)
})

t.test(
  'nothing is deleted without --prune, and then only in the sections of the file',
  async t => {
    const { apply, listed, keys, user, admin } = await gateway(t)
    const { user: ada } = await user('member')
    const { user: bob } = await user('member')
    await apply({
      projects: [{ name: 'search', members: [ada.email, bob.email] }, { name: 'old' }],
      keys: [{ name: 'web' }, { name: 'stale', project: 'old' }]
    })
    const file = { projects: [{ name: 'search', members: [ada.email] }], keys: [{ name: 'web' }] }
    const kept = await apply(file)
    t.match(kept, {
      code: 0,
      out: /Not in the file, which --prune would delete:\n {2}revoke +key +stale\n {2}remove +member +member-2@example\.com of search\n {2}archive +project +old\nNothing differs/
    })
    t.equal((await listed()).keys.length, 3)
    t.equal((await apply(file, '--plan', '--prune')).code, 3)
    t.equal((await listed()).keys.length, 3)

    t.match(await apply({ projects: file.projects.map(({ name }) => ({ name })) }, '--prune'), {
      code: 0,
      out: /^archive +project +old *\n1 changes\.$/
    })
    const others = await listed()
    t.same(
      others.projects.map(({ name }) => name),
      ['Default', 'search']
    )
    t.equal(
      others.projects.find(({ name }) => name === 'search')?.members,
      2,
      'without a list of members none is removed'
    )
    await apply({ keys: [{ name: 'web' }, { name: 'stale' }] })
    t.equal((await apply(file, '--prune')).code, 0)
    const left = await listed()
    t.same(
      left.keys.map(({ name }) => name).toSorted(),
      ['configured', 'web'],
      'a key of the configuration stays'
    )
    t.equal(left.projects.find(({ name }) => name === 'search')?.members, 1)
    t.ok(await admin.accounts.users.find(bob.id), 'users stay')
    t.ok(keys.check('a-key-of-the-configuration'))
    t.same(await apply(file, '--prune'), nothing)
  }
)

t.test('missing users are invited with their projects, and roles are corrected', async t => {
  const { apply, user, admin } = await gateway(t)
  const { user: ada } = await user('viewer')
  const file = {
    projects: [{ name: 'search', members: ['new@example.com'] }],
    users: [{ email: ada.email, role: 'member' }, { email: 'New@example.com', role: 'viewer' }]
  }
  const { code, out } = await apply(file)
  t.equal(code, 0)
  t.match(out, /^invitation new@example\.com: http:\S+\/dashboard\/#\/invitation\/\S+ \(shown once\)$/m)
  t.equal((await admin.accounts.users.find(ada.id))?.role, 'member')
  const [invitation] = (await admin.accounts.links.listInvitations({ limit: 10 })).data
  t.match(invitation, { email: 'new@example.com', role: 'viewer', projects: [/^project/] })
  t.match(await apply(file), { code: 0, out: 'new@example.com is invited.\nNothing differs from the file.' })
  const more = { ...file, projects: [...file.projects, { name: 'second', members: ['new@example.com'] }] }
  await apply(more)
  t.match(await apply(more), {
    out: /new@example\.com can join second once the invitation is accepted: apply the file again then\./
  })
  await admin.accounts.users.create({ name: 'New', email: 'new@example.com', role: 'viewer', projects: [] })
  t.match(await apply(more), {
    code: 0,
    out: /^add +member +new@example\.com of search *\nadd +member +new@example\.com of second/
  })
})

t.test('a file with a mistake is refused with its place, and nothing is changed', async t => {
  const { apply, listed } = await gateway(t)
  const text = `projects:
  - name: search
    modles: []
  - name: search
keys:
  - name: web
    limits: {budget: {usd: -1}}
  - {name: day, expires_at: 2099-13-31}
  - {name: both, limits: {budget: {usd: 1}, budgets: [{usd: 2}]}}
  - {name: list, models: openai/*}
  - {name: unset, limits: {}, unset: [limits]}
`
  const { code, error } = await apply(text)
  t.equal(code, 1)
  for (const line of [
    'organisation.yaml:3:5  projects[0].modles  unknown entry; did you mean projects[0].models?',
    'organisation.yaml:7:28  keys[0].limits.budget.usd  must be more than 0',
    'organisation.yaml:10:26  keys[3].models  must be a list'
  ]) {
    t.match(error, line)
  }
  t.match(
    await apply(text.replace('modles', 'models').replace('-1', '1').replace('openai/*', '[openai/*]')),
    {
      error: [
        'organisation.yaml:4:11  projects[1].name  another entry of projects has this name',
        'organisation.yaml:8:29  keys[1].expires_at  must be a day (2030-12-31) or a time (2030-12-31T18:00:00Z)',
        'organisation.yaml:9:45  keys[2].limits.budgets  cannot be set together with `budget`: put all budgets into `budgets`',
        'organisation.yaml:11:19  keys[4].limits  cannot be both set and listed in `unset`'
      ].join('\n')
    }
  )
  for (const [file, message] of [
    [
      { projects: [{ name: 'a', members: ['none@example.com'] }] },
      /no user has the email none@example\.com, a member of a\. List it in users/
    ],
    [
      { keys: [{ name: 'k' }, { name: 'l', project: 'none' }] },
      /l is in the project none, which does not exist/
    ],
    [
      { keys: [{ name: 'k' }, { name: 'configured', models: ['a/b'] }] },
      /configured is defined in the configuration of the gateway/
    ],
    [
      { keys: [{ name: 'k' }, { name: 'old', expires_at: '2020-01-01' }] },
      /keys: old has an `expires_at` in the past/
    ]
  ] as const) {
    t.match(await apply(file), { code: 1, error: message })
  }
  const { keys, projects } = await listed()
  t.same([keys.length, projects.length], [1, 1])
  await apply({ projects: [{ name: 'a' }], keys: [{ name: 'k' }] })
  t.match(await apply({ keys: [{ name: 'k', project: 'a' }] }), {
    code: 1,
    error: /k belongs to a project other than a, and keys cannot be moved between projects/
  })
})

t.test('new keys are first saved to a new private file, and only then created', async t => {
  const { apply, directory, keys, listed } = await gateway(t)
  writeFileSync(join(directory, 'taken'), '')
  t.match(await apply({ keys: [{ name: 'web' }] }, '--secrets', 'taken'), {
    code: 1,
    error: /--secrets: taken exists: name a new file/
  })
  t.equal((await listed()).keys.length, 1)
  const { code, out } = await apply({ keys: [{ name: 'web' }, { name: 'batch' }] }, '--secrets', 'secrets')
  t.equal(code, 0)
  t.notMatch(out, 'hg_')
  const file = join(directory, 'secrets')
  t.equal(statSync(file).mode & 0o777, 0o600)
  const lines = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { kind: string, name: string, secret: string })
  t.same(
    lines.map(({ kind, name, secret }) => [kind, name, keys.check(secret)?.name]),
    [
      ['key', 'web', 'web'],
      ['key', 'batch', 'batch']
    ]
  )
  t.same(await apply({ keys: [{ name: 'web' }] }, '--secrets', 'other').then(({ code }) => code), 0)
  t.notOk(existsSync(join(directory, 'other')), 'no file if there is no secret')
})

t.test('a file with an unknown endpoint changes nothing', async t => {
  const { apply, listed } = await gateway(t)
  t.match(await apply({ keys: [{ name: 'web' }, { name: 'wrong', endpoints: ['chat', 'embedings'] }] }), {
    code: 1,
    error: /keys\[1\]\.endpoints\[1\] +must be one of chat, .*; did you mean embeddings\?/
  })
  t.notOk((await listed()).keys.some(({ name }) => name === 'web'))
})

t.test('a failure in the middle reports the progress, loses no key, and can be resumed', async t => {
  const { apply, admin, directory, api, keys } = await gateway(t)
  const { secret } = await admin.accounts.adminKeys.create({
    name: 'ci',
    role: 'member',
    scopes: ['keys:read', 'keys:write'],
    createdBy: 'x'
  })
  const file = { keys: [{ name: 'web' }, { name: 'wrong', provider_objects: true }, { name: 'last' }] }
  writeFileSync(join(directory, 'file.json'), JSON.stringify(file))
  const run = async (key: string, ...args: readonly string[]) =>
    await headgate(t, ['apply', '-f', 'file.json', '--url', `${api.url}/v1/`, ...args], directory, {
      HEADGATE_ADMIN_KEY: key
    })
  const { code, out, error } = await run(secret, '--json')
  t.equal(code, 1)
  t.match(
    error,
    /create key wrong: POST \/admin\/v1\/keys: 403: A key with `provider_objects` needs the role `admin`\.\n1 of 3 changes were made\. Apply the file again\./
  )
  const {
    secrets: [{ secret: made }],
    applied
  } = JSON.parse(out) as { secrets: [{ secret: string }], applied: number }
  t.equal(applied, 1)
  t.equal(keys.check(made)?.name, 'web')
  t.match(await apply({ ...file, keys: [{ name: 'web' }, { name: 'last' }] }), {
    code: 0,
    out: /^create +key +last *\nkey last: hg_\S+ \(shown once\)$|1 changes/
  })

  const wrong = await run('hga_not_a_key')
  t.match(wrong, { code: 1, error: /GET \/admin\/v1\/keys: 401: / })
  t.notMatch(wrong.error, 'hga_not_a_key')
  t.match(await headgate(t, ['apply', '-f', 'file.json', '--url', api.url], directory, {}), {
    code: 1,
    error: /HEADGATE_ADMIN_KEY is not set/
  })
  t.match(
    await headgate(
      t,
      ['apply', '-f', 'file.json', '--url', closedUrl],
      directory,
      { HEADGATE_ADMIN_KEY: 'x' }
    ),
    { code: 1, error: /ECONNREFUSED/ }
  )
  t.match(await headgate(t, ['apply', '-f', 'none.json', '--url', api.url], directory, {}), {
    code: 1,
    error: /none\.json cannot be read: ENOENT/
  })
  t.match(await headgate(t, ['apply'], directory, {}), { code: 2, error: /-f FILE is missing/ })
})

t.test('a new gateway can be set up without a browser', async t => {
  const directory = directoryOf(t, {
    'headgate.yaml': 'providers: {sandbox: {options: {words_per_second: 0}}}',
    '.env': `HEADGATE_ADMIN_KEY=${adminKey}\n`,
    'organisation.yaml':
      'projects: [{name: search, models: [sandbox/echo]}]\nkeys: [{name: web, project: search}]\n'
  })
  const { url } = await startGateway(t, directory)
  const { code, out, error } = await launch(t, ['apply', '-f', 'organisation.yaml'], directory).ended
  t.same([code, error], [0, ''])
  const secret = /^key web: (\S+)/m.exec(out)?.[1] ?? ''
  t.equal((await ask(url, secret)).status, 200)
  t.equal((await ask(url, secret, 'sandbox/story')).status, 403)
})

t.test('guards of projects and keys are set from the file', async t => {
  const stage = (name: string): GuardSettings => ({
    name,
    use: 'pattern',
    at: ['request'],
    patterns: ['email'],
    when: 'asked'
  })
  const { apply, listed } = await gateway(t, { guards: [stage('names'), stage('cards')] })
  const file = {
    projects: [{ name: 'search', stages: ['names'] }],
    keys: [{ name: 'web', project: 'search', stages: ['cards'] }]
  }
  t.match(await apply(file, '--plan'), {
    code: 3,
    out: /^create +project +search +stages: \["names"\]\ncreate +key +web +.*stages: \["cards"\]$/m
  })
  t.equal((await apply(file)).code, 0)
  const stagesOf = async () => {
    const { projects, keys } = await listed()
    return [...projects, ...keys]
      .filter(({ name }) => ['search', 'web'].includes(name))
      .map(({ stages }) => stages)
  }
  t.same(await stagesOf(), [['names'], ['cards']])
  t.same(await apply(file), nothing)
  const unknown = { projects: [{ name: 'new' }], keys: [{ name: 'web', stages: ['missing'] }] }
  t.match(await apply(unknown), {
    code: 1, out: '', error: /keys: web has the guard missing, which the configuration of the gateway lacks/
  })
  t.match(await apply({ projects: [{ name: 'new' }, { name: 'search', stages: ['missing'] }] }), {
    code: 1, out: '', error: /projects: search has the guard missing/
  })
  t.notOk((await listed()).projects.some(({ name }) => name === 'new'), 'nothing was changed before')
  t.match(await apply({ keys: [{ name: 'web', unset: ['stages'] }] }), {
    code: 0,
    out: /^change +key +web +stages: \["cards"\] → null$/m
  })
  t.same(await stagesOf(), [['names'], null])
})

t.test(
  'user limits and key owners are set from the file for users that exist',
  async t => {
    const { apply, listed, user, admin } = await gateway(t)
    const { user: ada } = await user('member')
    const email = ada.email ?? ''
    const limits = { budget: { usd: 5, per: 'day' } }
    const file = {
      users: [
        { email, role: 'member', limits },
        { email: 'new@example.com', role: 'member', limits }
      ],
      keys: [{ name: 'web', owner: email.toUpperCase() }]
    }
    const applied = await apply(file)
    t.equal(applied.code, 0, applied.error)
    t.match(applied.out, /The limits of new@example\.com can be set once the invitation is accepted/)
    t.match(await admin.accounts.users.find(ada.id), {
      limits: JSON.stringify({ budget: { per: 'day', usd: 5 } })
    })
    t.equal((await listed()).keys.find(({ name }) => name === 'web')?.owner_id, ada.id)
    const unknown = await apply({ keys: [{ name: 'web', owner: 'nobody@example.com' }] })
    t.match(unknown, {
      code: 1,
      error: /web should belong to nobody@example\.com, but no user has this email/
    })
    t.match(await apply({ users: [{ email, role: 'member', unset: ['limits'] }] }, '--plan'), {
      code: 3,
      out: /^change +user .*limits: .* → null$/m
    })
    t.match(await apply({ users: [{ email, role: 'member', limits, unset: ['limits'] }] }), {
      out: '',
      error: /cannot be both set and listed in `unset`/
    })
  }
)
