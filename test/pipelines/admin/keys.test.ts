/** Callers' keys, created and changed through the admin API. */

import t from 'tap'
import { sql } from 'kysely'
import { openDatabase } from '../../../lib/stores/open-database.ts'
import { adminGateway, type Person } from '../../support/admin.ts'
import { modelSettings, providerSettings, settings } from '../../support/settings.ts'
import { testPlace } from '../../support/stores.ts'
import { usageRowOf } from '../../support/usage.ts'
import type { Key } from '../../../schemas/admin/keys.ts'
import type { GuardSettings } from '../../../lib/core/settings.ts'
import { Secret } from '../../../lib/core/secret.ts'

t.test('a key is shown once, works at once, and ends at once', async t => {
  const { user, keys } = await adminGateway(t)
  const { send } = await user('owner')
  const limits = { requests_per_minute: 5, budget: { usd: 20, per: 'month' } }
  const {
    status,
    body: { key, secret }
  } = await send('POST /admin/v1/keys', { name: 'ci', endpoints: ['chat'], models: ['openai/*'], limits })
  t.equal(status, 200)
  t.match(keys.check(secret), {
    id: key.id,
    name: 'ci',
    endpoints: ['chat'],
    models: ['openai/*'],
    limits: { requestsPerMinute: 5, budget: { usd: 20, per: 'month' } }
  })
  t.match(key, {
    status: 'active',
    source: 'store',
    project_id: 'default',
    created_by: 'owner 1',
    limits,
    spent_usd: 0,
    last_used_at_ms: null
  })
  t.equal(key.hint, `${secret.slice(0, 6)}…${secret.slice(-3)}`)
  t.notOk(JSON.stringify((await send(`GET /admin/v1/keys/${key.id}`)).body).includes(secret))
  const changed = (await send(`POST /admin/v1/keys/${key.id}`, { name: 'ci 2', models: null, limits: null }))
    .body
  t.match(changed, { name: 'ci 2', models: null, endpoints: ['chat'], limits: null })
  t.match(keys.check(secret), { name: 'ci 2', models: undefined, limits: undefined })
  t.match((await send(`DELETE /admin/v1/keys/${key.id}`)).body, { status: 'revoked' })
  t.equal(keys.check(secret), undefined)
  t.equal((await send(`POST /admin/v1/keys/${key.id}`, { name: 'x' })).status, 409)
})

t.test(
  'a key shows its spending, of its budget or this month, and when a budget is exhausted',
  async t => {
    const { user, database } = await adminGateway(t, {
      keys: [{ name: 'ci', key: new Secret('a-key-of-the-configuration') }]
    })
    const { send } = await user('owner')
    const made = async (name: string, limits?: object): Promise<string> =>
      (await send('POST /admin/v1/keys', { name, ...limits !== undefined && { limits } })).body.key.id
    const ids = [
      await made('free'),
      await made('left', { budget: { usd: 10, per: 'month' } }),
      await made('out', { budget: { usd: 3.0001, per: 'total' } }),
      await made('second', {
        budgets: [
          { usd: 100, per: 'month' },
          { usd: 3, per: 'day' }
        ]
      }),
      'configured:ci'
    ]
    await database.insertUsage(
      ids.map((key_id, number) => usageRowOf(number, { at_ms: Date.now(), key_id, cost_nano_usd: 3e9 }))
    )
    const { data } = (await send('GET /admin/v1/keys')).body
    t.same(data.map(({ name, spent_usd: spent, exhausted }: Key) => [name, spent, exhausted]).toSorted(), [
      ['ci', 3, false],
      ['free', 3, false],
      ['left', 3, false],
      ['out', 3, true],
      ['second', 3, true]
    ])
    const { body: project } = await send('GET /admin/v1/projects/default')
    t.match(
      project,
      { spent_usd: 12, exhausted: false, created_at_ms: null },
      'without the keys of the configuration'
    )
  }
)

t.test('a rotated key keeps its id; the old text works during the overlap', async t => {
  const { user, keys, database } = await adminGateway(t)
  const { send } = await user('admin')
  const { key, secret } = (await send('POST /admin/v1/keys', { name: 'ci' })).body
  const { secret: next, key: same } = (
    await send(`POST /admin/v1/keys/${key.id}/rotate`, { overlap_ms: 60_000 })
  ).body
  t.equal(same.id, key.id)
  t.same([keys.check(secret)?.id, keys.check(next)?.id], [key.id, key.id])
  await database.query.updateTable('keys').set({ previous_until_ms: Date.now() - 1 }).execute()
  await keys.refresh()
  t.same([keys.check(secret)?.id, keys.check(next)?.id], [undefined, key.id])
  const { secret: last } = (await send(`POST /admin/v1/keys/${key.id}/rotate`, {})).body
  t.same([keys.check(next), keys.check(last)?.id], [undefined, key.id])
})

t.test('members see and change only keys of their projects', async t => {
  const { user } = await adminGateway(t)
  const owner = await user('owner')
  const [mine, theirs] = [
    (await owner.send('POST /admin/v1/projects', { name: 'mine' })).body,
    (await owner.send('POST /admin/v1/projects', { name: 'theirs' })).body
  ]
  const [{ key: own }, { key: other }] = await Promise.all(
    [mine, theirs].map(
      async ({ id, name }) => (await owner.send('POST /admin/v1/keys', { name, project_id: id })).body
    )
  )
  const member = await user('member', [mine.id])
  const viewer = await user('viewer', [mine.id])
  t.same((await member.send('GET /admin/v1/keys')).body.data.map(({ id }: { id: string }) => id), [own.id])
  t.same((await member.send(`GET /admin/v1/keys?project=${theirs.id}`)).body.data, [])
  t.same(
    (await member.send('GET /admin/v1/keys?project=')).body,
    (await member.send('GET /admin/v1/keys')).body,
    'an empty filter is none'
  )
  t.same(
    (await member.send('GET /admin/v1/projects')).body.data.map(({ id }: { id: string }) => id),
    [mine.id]
  )
  for (const route of [
    `GET /admin/v1/keys/${other.id}`,
    `DELETE /admin/v1/keys/${other.id}`,
    `GET /admin/v1/projects/${theirs.id}`,
    `GET /admin/v1/projects/${theirs.id}/members`
  ]) {
    t.equal((await member.send(route)).status, 404, route)
  }
  t.equal((await member.send(`POST /admin/v1/keys/${other.id}/rotate`, { overlap_ms: 0 })).status, 404)
  t.equal((await member.send('POST /admin/v1/keys', { name: 'x', project_id: theirs.id })).status, 404)
  t.equal((await member.send('POST /admin/v1/keys', { name: 'x' })).status, 404, 'nor of the default project')
  t.equal((await member.send('POST /admin/v1/keys', { name: 'x', project_id: mine.id })).status, 200)
  t.equal((await viewer.send('GET /admin/v1/keys')).status, 403)
  t.equal((await viewer.send('POST /admin/v1/playground/key', { project_id: mine.id })).status, 403)
  const { body } = await member.send('POST /admin/v1/playground/key', { project_id: mine.id })
  t.ok(body.secret.startsWith('hg_') && body.expires_at_ms < Date.now() + 3_700_000)
  t.same(
    (await member.send('GET /admin/v1/keys')).body.data.map(({ name }: { name: string }) => name),
    ['x', 'mine'],
    'keys of the playground are not listed'
  )
  t.equal((await member.send(`DELETE /admin/v1/keys/${body.key_id}`)).body.status, 'revoked')
})

t.test('members can neither get nor change a key that may use objects stored at providers', async t => {
  const { user, keys } = await adminGateway(t)
  const owner = await user('owner')
  const { id } = (await owner.send('POST /admin/v1/projects', { name: 'p' })).body
  const { key, secret } = (
    await owner.send('POST /admin/v1/keys', {
      name: 'files',
      project_id: id,
      models: ['openai/*'],
      provider_objects: true
    })
  ).body
  const [member, admin] = [await user('member', [id]), await user('admin')]
  const path = `POST /admin/v1/keys/${key.id}`
  for (const [route, body] of [
    [`${path}/rotate`, {}],
    [path, { models: null }],
    [path, { expires_at_ms: null }],
    [path, { provider_objects: true }],
    ['POST /admin/v1/keys', { name: 'x', project_id: id, provider_objects: true }]
  ] as const) {
    const refused = await member.send(route, body)
    t.match(
      [refused.status, refused.body.error],
      [403, { code: 'insufficient_permissions', param: 'provider_objects' }],
      `${route} ${JSON.stringify(body)}`
    )
  }
  t.match(keys.check(secret), { models: ['openai/*'], providerObjects: true }, 'it is as it was')
  const { secret: next } = (await admin.send(`${path}/rotate`, {})).body
  t.ok(keys.check(next), 'an admin may')
  t.match(
    (await member.send(path, { provider_objects: false })).body,
    { provider_objects: false },
    'a key without that right is like others'
  )
  await admin.send(path, { owner_id: member.user.id })
  t.equal((await member.send(`${path}/rotate`, {})).status, 200)
})

t.test("members cannot get the text of a key that counts in someone else's limits", async t => {
  const { user, keys, admin } = await adminGateway(t)
  const owner = await user('owner')
  const { id } = (await owner.send('POST /admin/v1/projects', { name: 'p' })).body
  const [member, other] = [await user('member', [id]), await user('member', [id])]
  const { key, secret } = (await member.send('POST /admin/v1/keys', { name: 'hers', project_id: id })).body
  const rotate = `POST /admin/v1/keys/${key.id}/rotate`
  t.match(await other.send(rotate, { overlap_ms: 60_000 }), {
    status: 403,
    body: { error: { code: 'insufficient_permissions' } }
  })
  t.ok(keys.check(secret), 'it is as it was')
  t.equal((await member.send(rotate, {})).status, 200)
  t.equal((await owner.send(rotate, {})).status, 200)
  const nobodys = await admin.keys.create({ name: 'service', project_id: id }, { id: null, name: 'apply' })
  t.equal((await other.send(`POST /admin/v1/keys/${nobodys.key.id}/rotate`, {})).status, 200, "nobody's")
})

t.test('a playground key, which no list shows, cannot be made permanent', async t => {
  const { user } = await adminGateway(t)
  const owner = await user('owner')
  const made = await owner.send('POST /admin/v1/playground/key', { project_id: 'default' })
  const { key_id: id } = made.body
  const before = (await owner.send(`GET /admin/v1/keys/${id}`)).body
  for (const [route, body] of [
    [`POST /admin/v1/keys/${id}`, { expires_at_ms: null }],
    [`POST /admin/v1/keys/${id}`, { name: 'x' }],
    [`POST /admin/v1/keys/${id}/rotate`, { overlap_ms: 60_000 }]
  ] as const) {
    t.match(await owner.send(route, body), { status: 409, body: { error: { message: /playground/ } } }, route)
  }
  t.same((await owner.send(`GET /admin/v1/keys/${id}`)).body, before)
  t.equal((await owner.send(`DELETE /admin/v1/keys/${id}`)).body.status, 'revoked')
})

t.test('a playground key ends when its user loses rights, as no one else sees it', async t => {
  const { user, keys } = await adminGateway(t)
  const owner = await user('owner')
  const project = async (name: string): Promise<string> =>
    (await owner.send('POST /admin/v1/projects', { name })).body.id
  const [mine, other] = [await project('mine'), await project('other')]
  const playground = async (by: Person, id: string): Promise<string> =>
    (await by.send('POST /admin/v1/playground/key', { project_id: id })).body.secret
  const ends: Readonly<Record<string, (member: Person) => Promise<unknown>>> = {
    'leaving the project': async ({ user: { id } }) =>
      await owner.send(`DELETE /admin/v1/projects/${mine}/members/${id}`),
    'a lower role': async ({ user: { id } }) =>
      await owner.send(`POST /admin/v1/users/${id}`, { role: 'viewer' }),
    'being disabled': async ({ user: { id } }) =>
      await owner.send(`POST /admin/v1/users/${id}`, { disabled: true }),
    'being deleted': async ({ user: { id } }) => await owner.send(`DELETE /admin/v1/users/${id}`),
    'a new password': async ({ send }) =>
      await send('POST /admin/v1/profile/password', { new_password: 'correct horse battery' })
  }
  for (const [name, end] of Object.entries(ends)) {
    const [member, bystander] = [await user('member', [mine, other]), await user('member', [mine])]
    const [ended, untouched] = [await playground(member, mine), await playground(bystander, mine)]
    const elsewhere = await playground(member, other)
    await end(member)
    await keys.refresh()
    t.equal(keys.check(ended), undefined, name)
    t.ok(keys.check(untouched), 'the key of another user stays')
    if (name === 'leaving the project') t.ok(keys.check(elsewhere), 'and that of another project')
    else t.equal(keys.check(elsewhere), undefined, name)
  }
})

t.test('ending another session ends all playground keys, whichever session created them', async t => {
  const { user, admin, keys } = await adminGateway(t)
  const owner = await user('owner')
  const device = { address: null, userAgent: null }
  const { row } = await admin.accounts.sessions.create(owner.user.id, device, false)
  const { secret } = (await owner.send('POST /admin/v1/playground/key', { project_id: 'default' })).body
  const lasting = (await owner.send('POST /admin/v1/keys', { name: 'lasting' })).body.secret
  t.equal((await owner.send(`DELETE /admin/v1/sessions/${row.id}`)).status, 200)
  await keys.refresh()
  t.equal(keys.check(secret), undefined)
  t.ok(keys.check(lasting))
})

t.test('members cannot exempt a key from the default limits of the configuration', async t => {
  const { user } = await adminGateway(t, {
    limits: { ...settings().limits, defaultKeyLimits: { requestsPerMinute: 5 } }
  })
  const owner = await user('owner')
  const { id } = (await owner.send('POST /admin/v1/projects', { name: 'p' })).body
  const [member, admin] = [await user('member', [id]), await user('admin')]
  const wide = { limits: { requests_per_minute: 1_000_000 } }
  const { key } = (await member.send('POST /admin/v1/keys', { name: 'hers', project_id: id })).body
  for (const limits of [wide.limits, {}]) {
    for (const [route, body] of [
      ['POST /admin/v1/keys', { name: 'wide', project_id: id, limits }],
      [`POST /admin/v1/keys/${key.id}`, { limits }]
    ] as const) {
      t.match(
        await member.send(route, body),
        { status: 403, body: { error: { code: 'insufficient_permissions', param: 'limits' } } },
        `${route} ${JSON.stringify(limits)}`
      )
    }
  }
  t.equal((await member.send(`POST /admin/v1/keys/${key.id}`, { limits: null, name: 'x' })).status, 200)
  t.match((await admin.send(`POST /admin/v1/keys/${key.id}`, wide)).body, wide, 'an admin may')
  const renamed = await member.send(`POST /admin/v1/keys/${key.id}`, { ...wide, name: 'y' })
  t.equal(renamed.status, 200, 'they stay as they are')
})

t.test('a person can create a limited number of keys per hour, an admin key any number', async t => {
  const { user, admin } = await adminGateway(t)
  const [member, other] = [await user('owner'), await user('owner')]
  const make = (n: number) =>
    n % 2 === 0
      ? member.send('POST /admin/v1/playground/key', { project_id: 'default' })
      : member.send('POST /admin/v1/keys', { name: `key ${n}` })
  const statuses: number[] = []
  // as many at once as the store accepts
  for (let from = 0; from < 150; from += 50) {
    const made = await Promise.all(Array.from({ length: 50 }, async (_, n) => await make(from + n)))
    statuses.push(...made.map(({ status }) => status))
  }
  t.equal(statuses.filter(status => status === 200).length, 120)
  t.equal(statuses.filter(status => status === 429).length, 30)
  const refused = await make(200)
  t.match(refused, { status: 429, body: { error: { code: 'rate_limit_exceeded', message: /120 keys/ } } })
  const wait = Number(refused.response.headers.get('retry-after'))
  t.ok(wait > 3500 && wait <= 3600, 'says when')
  t.equal((await other.send('POST /admin/v1/keys', { name: 'hers' })).status, 200, 'by user')
  const { secret } = await admin.accounts.adminKeys.create({ name: 'ops', role: 'owner', createdBy: 'test' })
  const authorization = `Bearer ${secret}`
  t.equal((await other.send('POST /admin/v1/keys', { name: 'more' }, { authorization })).status, 200)
})

t.test('a key is not changed if its rights changed since they were checked', async t => {
  const place = await testPlace(t)
  const beside = await openDatabase(place)
  t.teardown(async () => await beside.close())
  const { user, afterRead } = await adminGateway(t, {}, {}, place)
  const owner = await user('owner')
  const { id: project } = (await owner.send('POST /admin/v1/projects', { name: 'p' })).body
  const member = await user('member', [project])
  const { key } = (await member.send('POST /admin/v1/keys', { name: 'hers', project_id: project })).body
  const path = `POST /admin/v1/keys/${key.id}`
  const set = async (values: object): Promise<unknown> =>
    await beside.query
      .updateTable('keys')
      .set({ ...values, changes: sql<number>`changes + 1` })
      .where('id', '=', key.id)
      .execute()
  const narrow = async (): Promise<unknown> =>
    await set({ limits: '{"requestsPerMinute":5}', set_by_admin: '["limits"]' })
  for (const reads of [1, 2]) {
    afterRead('keys', async () => reads === 1 ? await narrow() : afterRead('keys', narrow))
    t.equal((await member.send(path, { limits: null, models: ['*'] })).status, 409, `after read ${reads}`)
    const after = (await owner.send(`GET /admin/v1/keys/${key.id}`)).body
    t.match(after, { limits: { requests_per_minute: 5 }, set_by_admin: ['limits'], models: null })
    await set({ limits: null, set_by_admin: '[]' })
  }
  afterRead('keys', async () => await set({ owner_id: owner.user.id }))
  t.equal((await member.send(`${path}/rotate`, {})).status, 409, 'nor is its text given to who owned it')
})

t.test('times are limited to valid dates, and text of any characters is stored', async t => {
  const { user } = await adminGateway(t)
  const { send } = await user('owner')
  for (const path of ['/admin/v1/keys', '/admin/v1/admin-keys']) {
    const name = 'a\0b\ud800'
    t.equal((await send(`POST ${path}`, { name, expires_at_ms: 8_640_000_000_000_000 })).status, 200, path)
    const { body } = await send(`GET ${path}`)
    t.ok(JSON.stringify(body).includes('"a\uFFFDb\uFFFD"'), path)
    for (const ms of [8_640_000_000_000_001, 1e308]) {
      const { status, body } = await send(`POST ${path}`, { name: 'late', expires_at_ms: ms })
      t.match([status, body.detail?.[0]], [422, { loc: ['body', 'expires_at_ms'] }], `${path}: ${ms}`)
    }
  }
})

t.test('the models and the end of a project apply to all its keys', async t => {
  const { user, keys } = await adminGateway(t)
  const { send } = await user('owner')
  const { id } = (
    await send('POST /admin/v1/projects', { name: 'p', models: ['openai/*', 'mistral/small'] })
  ).body
  const create = async (name: string, models?: readonly string[]) =>
    (await send('POST /admin/v1/keys', { name, project_id: id, models })).body.secret as string
  const [all, some] = [await create('all'), await create('some', ['openai/gpt-4o', 'anthropic/*'])]
  t.same(
    [keys.check(all)?.models, keys.check(some)?.models],
    [['openai/*', 'mistral/small'], ['openai/gpt-4o']]
  )
  await send(`POST /admin/v1/projects/${id}`, { models: null, limits: { requests_per_minute: 3 } })
  await keys.refresh()
  t.match(keys.check(all), { models: undefined, project: { id, limits: { requestsPerMinute: 3 } } })
  t.equal((await send('POST /admin/v1/projects', { name: 'p' })).status, 409)
  t.equal((await send(`DELETE /admin/v1/projects/${id}`)).status, 200)
  await keys.refresh()
  t.equal(keys.check(all), undefined)
  for (const [route, body] of [
    ['POST /admin/v1/keys', { name: 'late', project_id: id }],
    ['POST /admin/v1/playground/key', { project_id: id }]
  ] as const) {
    const refused = await send(route, body)
    t.match([refused.status, refused.body.error.param], [409, 'project_id'], route)
  }
  t.equal((await send('DELETE /admin/v1/projects/default')).status, 409)
})

t.test('configured keys are shown, and changed only in the configuration', async t => {
  const { user } = await adminGateway(t, { keys: [{ name: 'site', key: new Secret('a-configured-key') }] })
  const { send } = await user('owner')
  const { data } = (await send('GET /admin/v1/keys')).body
  t.match(data, [{ id: 'configured:site', source: 'configuration', hint: null }])
  t.equal((await send('POST /admin/v1/keys/configured:site', { name: 'x' })).status, 409)
  t.equal((await send('POST /admin/v1/keys', { name: 'site' })).status, 409)
})

t.test('lists are paged and filtered', async t => {
  const { user } = await adminGateway(t)
  const { send } = await user('owner')
  for (let index = 0; index < 5; index++) await send('POST /admin/v1/keys', { name: `key ${index} 100%` })
  const names: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { body }: { body: { data: Array<{ name: string }>, next_cursor: string | null } } = await send(
      `GET /admin/v1/keys?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`
    )
    names.push(...body.data.map(({ name }) => name))
    cursor = body.next_cursor
  }
  t.same(names.toSorted(), ['key 0 100%', 'key 1 100%', 'key 2 100%', 'key 3 100%', 'key 4 100%'])
  const found = async (query: string): Promise<number> =>
    (await send(`GET /admin/v1/keys?${query}`)).body.data.length
  t.same(
    [
      await found('search=KEY+3'),
      await found('search=100%25'),
      await found('search=_'),
      await found('status=revoked')
    ],
    [1, 5, 5, 0],
    '_ is in every id, and no wildcard'
  )
  for (const query of ['limit=0', 'limit=x', 'cursor=x', 'status=x']) {
    t.equal((await send(`GET /admin/v1/keys?${query}`)).status, 400, query)
  }
})

t.test('a request with an Idempotency-Key is carried out once', async t => {
  const { user, database } = await adminGateway(t)
  const { send } = await user('owner')
  const create = async (name: string, key = 'once') =>
    await send('POST /admin/v1/keys', { name }, { 'idempotency-key': key })
  const first = await create('ci')
  const again = await create('ci')
  t.same(again.body, first.body, 'the key itself too')
  t.equal((await create('other')).status, 409)
  t.equal((await create('ci', 'twice')).status, 409, 'the name is taken')
  t.equal((await create('next', 'twice')).status, 200, 'what failed was not carried out')
  const stored = JSON.stringify(await database.query.selectFrom('idempotent_answers').selectAll().execute())
  t.notOk(
    stored.includes(first.body.secret) ||
      stored.includes(Buffer.from(first.body.secret).toString('base64').slice(4, -4))
  )
})

t.test('the audit log says what was done and by whom, without secrets', async t => {
  const { user } = await adminGateway(t)
  const owner = await user('owner')
  const { key, secret } = (await owner.send('POST /admin/v1/keys', { name: '<b>ci</b>' })).body
  const { secret: next } = (await owner.send(`POST /admin/v1/keys/${key.id}/rotate`, { overlap_ms: 0 })).body
  await owner.send(`POST /admin/v1/keys/${key.id}`, { name: 'ci' })
  const { key: adminKey, secret: adminSecret } = (
    await owner.send('POST /admin/v1/admin-keys', { name: 'ops', scopes: ['audit:read'] })
  ).body
  const { body } = await owner.send('GET /admin/v1/audit', undefined, {
    authorization: `Bearer ${adminSecret}`
  })
  t.same(
    body.data.map(({ action }: { action: string }) => action),
    ['admin_key.create', 'key.update', 'key.rotate', 'key.create']
  )
  t.match(body.data[1], {
    actor: owner.user.name,
    actor_id: owner.user.id,
    subject: key.id,
    address: '127.0.0.1',
    before: { name: '<b>ci</b>' },
    after: { name: 'ci' }
  })
  t.same(Object.keys(body.data[1].before), ['name'])
  for (const text of [secret, next, adminSecret]) t.notOk(JSON.stringify(body).includes(text))
  const filtered = (await owner.send(`GET /admin/v1/audit?action=key&subject=${key.id}&limit=2`)).body
  t.equal(filtered.data.length, 2)
  t.equal(
    (await owner.send(`GET /admin/v1/audit?action=key&cursor=${filtered.next_cursor}`)).body.data.length,
    1
  )
  await owner.send(`DELETE /admin/v1/admin-keys/${adminKey.id}`)
  t.equal(
    (await owner.send('GET /admin/v1/audit', undefined, { authorization: `Bearer ${adminSecret}` })).status,
    401
  )
})

t.test('the limits of a project apply to all its keys together', async t => {
  const place = await adminGateway(t, {
    providers: [{ ...providerSettings('sandbox', 'sandbox'), options: { words_per_second: 0 } }]
  })
  const { send } = await place.user('owner')
  const { id } = (await send('POST /admin/v1/projects', { name: 'p', limits: { requests_per_minute: 3 } }))
    .body
  const create = async (name: string, project?: string) =>
    (await send('POST /admin/v1/keys', { name, ...project !== undefined && { project_id: project } })).body
      .secret as string
  const [one, two, other] = [await create('one', id), await create('two', id), await create('other')]
  const ask = async (key: string) =>
    await place.api.post(
      '/v1/chat/completions',
      { model: 'sandbox/echo', messages: 'hi' },
      { headers: { authorization: `Bearer ${key}` } }
    )
  t.same([(await ask(one)).status, (await ask(two)).status, (await ask(one)).status], [200, 200, 200])
  const refused = await ask(two)
  t.equal(refused.status, 429)
  t.match(await refused.json(), {
    error: {
      message:
        'This project allows 3 requests to providers per minute. Retries and further tool turns of a call count too.'
    }
  })
  t.equal((await ask(other)).status, 200, 'other projects have their own')
})

t.test('a budget without a period is monthly, for keys and projects', async t => {
  const { user } = await adminGateway(t)
  const { send } = await user('owner')
  const limits = { budget: { usd: 20 } }
  const made = { limits: { budget: { usd: 20, per: 'month' } } }
  const { key } = (await send('POST /admin/v1/keys', { name: 'ci', limits })).body
  t.match(key, made)
  t.match(
    (await send(`POST /admin/v1/keys/${key.id}`, { limits: { budget: { usd: 20, per: 'day' } } })).body,
    { limits: { budget: { per: 'day' } } }
  )
  t.match((await send(`POST /admin/v1/keys/${key.id}`, { limits })).body, made)
  const project = (await send('POST /admin/v1/projects', { name: 'p', limits })).body
  t.match(project, made)
  t.match((await send(`POST /admin/v1/projects/${project.id}`, { limits })).body, made)
})

t.test('the budget of a project counts the spending of all its keys', async t => {
  const place = await adminGateway(t, {
    providers: [{ ...providerSettings('sandbox', 'sandbox'), options: { words_per_second: 0 } }],
    models: [modelSettings('sandbox/echo', { price: { input: 1, output: 1 } })]
  })
  const { send } = await place.user('owner')
  const { id } = (
    await send('POST /admin/v1/projects', { name: 'p', limits: { budget: { usd: 5, per: 'month' } } })
  ).body
  const [one, two] = await Promise.all(
    ['one', 'two'].map(async name => (await send('POST /admin/v1/keys', { name, project_id: id })).body)
  )
  const ask = async () =>
    (
      await place.api.post(
        '/v1/chat/completions',
        { model: 'sandbox/echo', messages: 'hi' },
        { headers: { authorization: `Bearer ${two.secret}` } }
      )
    ).status
  await place.database.insertUsage([
    usageRowOf(1, { at_ms: Date.now(), key_id: one.key.id, cost_nano_usd: 6e9 })
  ])
  t.equal((await send(`GET /admin/v1/projects/${id}`)).body.spent_usd, 6)
  t.equal(await ask(), 402)
  await send(`POST /admin/v1/projects/${id}`, { limits: { budget: { usd: 50, per: 'month' } } })
  await place.keys.refresh()
  t.equal(await ask(), 200)
})

t.test('members cannot change what an admin set on a key, only the rest', async t => {
  const { user, database } = await adminGateway(t)
  const owner = await user('owner')
  const { id } = (await owner.send('POST /admin/v1/projects', { name: 'p' })).body
  const member = await user('member', [id])
  const limits = { requests_per_minute: 5, budget: { usd: 20 } }
  const narrow = {
    endpoints: ['chat'],
    models: ['openai/*'],
    mcp_servers: ['org/name'],
    limits,
    expires_at_ms: Date.now() + 3_600_000
  }
  const { key } = (await owner.send('POST /admin/v1/keys', { name: 'narrow', project_id: id, ...narrow }))
    .body
  t.same(key.set_by_admin, ['endpoints', 'models', 'mcp_servers', 'mcp_urls', 'limits', 'expires_at_ms'])
  const path = `POST /admin/v1/keys/${key.id}`
  const refusedFields = async (): Promise<string[]> => {
    const wider = {
      endpoints: null,
      models: ['*'],
      mcp_servers: ['*'],
      mcp_urls: true,
      limits: { requests_per_minute: 6 },
      expires_at_ms: null
    }
    const refused: string[] = []
    for (const [name, value] of Object.entries(wider)) {
      const { status, body } = await member.send(path, { [name]: value })
      if (status === 403 && body.error.param === name) refused.push(name)
    }
    return refused
  }
  t.same(await refusedFields(), [
    'endpoints',
    'models',
    'mcp_servers',
    'mcp_urls',
    'limits',
    'expires_at_ms'
  ])
  const same = {
    name: 'renamed',
    ...narrow,
    mcp_urls: null,
    limits: { ...limits, budget: { usd: 20, per: 'month' } }
  }
  t.match(
    await member.send(path, same),
    { status: 200, body: { name: 'renamed', models: ['openai/*'], mcp_urls: false } },
    'a form sends all fields'
  )
  await database.query.updateTable('keys').set({ set_by_admin: null }).execute()
  t.same(
    (await refusedFields()).toSorted(),
    ['endpoints', 'expires_at_ms', 'limits', 'mcp_servers', 'mcp_urls', 'models'],
    'nor of a key of an earlier version'
  )
  t.match((await owner.send(path, { models: null })).body, {
    set_by_admin: ['endpoints', 'mcp_servers', 'mcp_urls', 'limits', 'expires_at_ms']
  })
  t.match((await member.send(path, { models: ['openai/gpt-4.1'] })).status, 200, 'what an admin gave back')

  const { key: own } = (
    await member.send('POST /admin/v1/keys', { name: 'own', project_id: id, models: ['openai/*'] })
  ).body
  const ownPath = `POST /admin/v1/keys/${own.id}`
  t.match((await member.send(ownPath, { models: null, limits })).body, { models: null, set_by_admin: [] })
  t.match(
    (await owner.send(ownPath, { name: 'own', models: ['mistral/*'], limits })).body,
    { set_by_admin: ['models'] },
    'only what the admin changed'
  )
  t.equal((await member.send(ownPath, { limits: null })).status, 200)
  t.equal((await member.send(ownPath, { models: null })).status, 403)
})

t.test(
  'keys and projects can require configured guards, and members cannot remove those an admin set',
  async t => {
    const stage = (name: string): GuardSettings => ({
      name,
      use: 'pattern',
      at: ['request'],
      patterns: ['email'],
      when: 'asked'
    })
    const configured = { name: 'file', key: new Secret('a-key-of-the-configuration'), guards: ['a'] }
    const { user, keys } = await adminGateway(t, {
      guards: [stage('a'), stage('b'), stage('c')],
      keys: [configured]
    })
    const owner = await user('owner')
    const project = (await owner.send('POST /admin/v1/projects', { name: 'p', stages: ['a'] })).body
    t.same(project.stages, ['a'])
    const member = await user('member', [project.id])
    const made = (
      await owner.send('POST /admin/v1/keys', { name: 'of p', project_id: project.id, stages: ['b'] })
    ).body
    t.match(made.key, { stages: ['b'], set_by_admin: ['stages'] })
    t.same(keys.check(made.secret)?.guards, ['b', 'a'], 'those of the project as well')
    const path = `POST /admin/v1/keys/${made.key.id}`
    for (const stages of [null, [], ['c']]) {
      const refused = await member.send(path, { stages })
      t.match([refused.status, refused.body.error.param], [403, 'stages'], JSON.stringify(stages))
    }
    const own = (await member.send('POST /admin/v1/keys', { name: 'own', project_id: project.id })).body
    t.same(keys.check(own.secret)?.guards, ['a'])
    for (const [route, body] of [
      [path, { stages: ['x'] }],
      ['POST /admin/v1/keys', { name: 'x', stages: ['x'] }],
      ['POST /admin/v1/projects', { name: 'x', stages: ['x'] }],
      [`POST /admin/v1/projects/${project.id}`, { stages: ['a', 'x'] }]
    ] as const) {
      const {
        status,
        body: { error }
      } = await owner.send(route, body)
      t.match(
        [status, error],
        [400, { param: 'stages', message: /^The configuration has no guard `x`/ }],
        route
      )
    }
    t.match((await owner.send(`POST /admin/v1/projects/${project.id}`, { stages: ['c', 'b'] })).body, {
      stages: ['c', 'b']
    })
    await keys.refresh()
    t.same(keys.check(made.secret)?.guards, ['b', 'c'], 'each once')
    await owner.send(`POST /admin/v1/projects/${project.id}`, { stages: null })
    t.match((await owner.send(path, { stages: null })).body, { stages: null, set_by_admin: [] })
    t.equal(keys.check(made.secret)?.guards, undefined)

    await owner.send('POST /admin/v1/projects/default', { stages: ['b'] })
    await keys.refresh()
    t.same(
      keys.check('a-key-of-the-configuration')?.guards,
      ['a', 'b'],
      'keys of the configuration are of the default project'
    )
    t.same(
      (await owner.send('GET /admin/v1/keys/configured:file')).body.stages,
      ['a'],
      'and shown as the configuration has them'
    )
  }
)
