/** Users, roles and members. */

import t from 'tap'
import { Secret } from '../../../lib/core/secret.ts'
import { adminGateway, sessionOf, type Person } from '../../support/admin.ts'
import { raw, rest } from '../../support/raw.ts'
import { adminRoutes, type AdminRouteSpec } from '../../../schemas/admin/routes.ts'
import { usageRowOf } from '../../support/usage.ts'

t.test('no one can change a user above them or grant more than they have', async t => {
  const { user } = await adminGateway(t)
  const [owner, admin, viewer] = [await user('owner'), await user('admin'), await user('viewer')]
  const path = `/admin/v1/users/${owner.user.id}`
  for (const [route, body] of [
    [`POST ${path}`, { role: 'viewer' }],
    [`DELETE ${path}`],
    [`POST ${path}/link`]
  ] as const) {
    t.equal((await admin.send(route, body)).status, 403, route)
  }
  t.equal((await admin.send(`POST /admin/v1/users/${viewer.user.id}`, { role: 'owner' })).status, 403)
  t.equal(
    (await admin.send(`POST /admin/v1/users/${admin.user.id}`, { role: 'owner' })).status,
    403,
    'not to themselves either'
  )
  t.equal((await admin.send('POST /admin/v1/admin-keys', { name: 'x', role: 'owner' })).status, 403)
  const second = await user('admin')
  t.match((await admin.send(`POST /admin/v1/users/${second.user.id}`, { role: 'viewer' })).body, {
    role: 'viewer'
  })
  t.equal((await second.send('GET /admin/v1/users')).status, 403, 'a role counts from the next request on')
  const { secret } = (await admin.send('POST /admin/v1/admin-keys', { name: 'x', scopes: ['users:write'] }))
    .body
  const more = await admin.send(
    'POST /admin/v1/admin-keys',
    { name: 'y', scopes: ['keys:write'] },
    { authorization: `Bearer ${secret}` }
  )
  t.equal(more.status, 403, 'a key makes no key with other scopes')
})

t.test(
  'an admin key can create neither users nor keys with more rights or a longer life than its own',
  async t => {
    const { user } = await adminGateway(t)
    const [owner, member] = [await user('owner'), await user('member')]
    const expiresAtMs = Date.now() + 3_600_000
    const create = async (body: object, secret?: string) =>
      (
        await owner.send(
          'POST /admin/v1/admin-keys',
          { name: 'x', ...body },
          secret === undefined ? {} : { authorization: `Bearer ${secret}` }
        )
      ).body
    const scoped = (await create({ scopes: ['users:write'], expires_at_ms: expiresAtMs })).secret
    const path = `POST /admin/v1/users/${member.user.id}`
    const by = async (secret: string, route: string, body?: object) =>
      await owner.send(route, body, { authorization: `Bearer ${secret}` })
    for (const [route, body] of [
      [`POST /admin/v1/users/${owner.user.id}/link`],
      ['POST /admin/v1/invitations', { role: 'owner' }],
      ['POST /admin/v1/invitations', { role: 'viewer' }],
      [path, { role: 'admin' }]
    ] as const) {
      const refused = await by(scoped, route, body)
      t.match(
        [refused.status, refused.body.error],
        [403, { code: 'insufficient_permissions', message: /^An admin key with scopes cannot/ }],
        route
      )
    }
    t.equal(
      (await by(scoped, path, { role: 'viewer', disabled: true })).status,
      200,
      'a role that is less gives nothing'
    )
    for (const change of [
      { email: 'mallory@example.com' },
      { disabled: false },
      { name: 'x', email: 'mallory@example.com' }
    ]) {
      t.match(
        await by(scoped, path, change),
        { status: 403, body: { error: { message: /^An admin key with scopes cannot/ } } },
        JSON.stringify(change)
      )
    }
    t.equal(
      (await by(scoped, path, { name: 'x', email: member.user.email, disabled: true })).status,
      200,
      'what it was already'
    )
    t.match((await owner.send(path, { email: 'other@example.com', disabled: false })).body, {
      email: 'other@example.com',
      disabled: false
    })
    for (const [wanted, made] of [
      [undefined, expiresAtMs],
      [expiresAtMs + 1, expiresAtMs],
      [expiresAtMs - 1, expiresAtMs - 1]
    ]) {
      const { key } = await create(wanted === undefined ? {} : { expires_at_ms: wanted }, scoped)
      t.match(key, { expires_at_ms: made, scopes: ['users:write'] })
    }
    const { secret: full, key } = await create({})
    t.equal(key.expires_at_ms, null)
    t.equal((await create({}, full)).key.expires_at_ms, null)
    t.equal((await by(full, `POST /admin/v1/users/${owner.user.id}/link`)).status, 200)
    t.equal((await by(full, 'POST /admin/v1/invitations', { role: 'owner' })).status, 200)
  }
)

t.test('there is always an owner', async t => {
  const { user } = await adminGateway(t)
  const owner = await user('owner')
  const path = `/admin/v1/users/${owner.user.id}`
  for (const [route, body] of [
    [`POST ${path}`, { role: 'admin' }],
    [`POST ${path}`, { disabled: true }],
    [`DELETE ${path}`]
  ] as const) {
    t.equal((await owner.send(route, body)).status, 409)
  }
  const second = await user('owner')
  t.match((await second.send(`POST ${path}`, { role: 'admin' })).body, { role: 'admin' })
})

t.test('emails are unique, ignoring case', async t => {
  const { user } = await adminGateway(t)
  const [first, second] = [await user('owner'), await user('member')]
  t.equal(
    (await second.send('POST /admin/v1/profile', { email: first.user.email?.toUpperCase() })).status,
    409
  )
  t.equal(
    (await first.send('POST /admin/v1/invitations', { role: 'viewer', email: second.user.email })).status,
    409
  )
  t.match(
    (await second.send('POST /admin/v1/profile', { email: 'Other@Example.com', name: 'Other' })).body.user,
    { email: 'other@example.com', name: 'Other' }
  )
})

t.test('an admin can create a sign-in link for another user', async t => {
  const { user, send } = await adminGateway(t)
  const [owner, member] = [await user('owner'), await user('member')]
  const { url } = (await owner.send(`POST /admin/v1/users/${member.user.id}/link`)).body
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+\/dashboard\/#\/link\/[\w-]{43}$/)
  t.match((await send('POST /admin/v1/sign-in/link', { token: url.split('/').at(-1) })).body, {
    user: { id: member.user.id }
  })
})

t.test(
  'a role change ends what others made for the user: all links, and sessions if the role rises',
  async t => {
    const { user, send } = await adminGateway(t)
    const [owner, admin, member] = [await user('owner'), await user('admin'), await user('member')]
    const path = `/admin/v1/users/${member.user.id}`
    const newLink = async (): Promise<string> =>
      (await admin.send(`POST ${path}/link`)).body.url.split('/').at(-1)
    const signIn = async (token: string) => await send('POST /admin/v1/sign-in/link', { token })
    const session = sessionOf(await signIn(await newLink()))
    const kept = await newLink()
    t.match((await owner.send(`POST ${path}`, { name: 'Renamed' })).body, { name: 'Renamed' })
    t.equal((await send('GET /admin/v1/session', undefined, session)).status, 200, 'a name ends nothing')
    t.match((await owner.send(`POST ${path}`, { role: 'owner' })).body, { role: 'owner' })
    t.match(
      [
        (await signIn(kept)).status,
        (await send('GET /admin/v1/session', undefined, session)).status,
        (await member.send('GET /admin/v1/session')).status
      ],
      [401, 401, 401]
    )
    const { url } = (await owner.send(`POST ${path}/link`)).body
    const next = sessionOf(await signIn(url.split('/').at(-1)))
    const lower = (await owner.send(`POST ${path}/link`)).body.url.split('/').at(-1)
    t.match((await owner.send(`POST ${path}`, { role: 'viewer' })).body, { role: 'viewer' })
    t.match(
      [(await signIn(lower)).status, (await send('GET /admin/v1/session', undefined, next)).body.user?.role],
      [401, 'viewer']
    )
  }
)

t.test('invitations and links made by an admin end if the admin is demoted, disabled or deleted', async t => {
  const { user, send } = await adminGateway(t)
  const [owner, other] = [await user('owner'), await user('admin')]
  const accept = async (url: string): Promise<number> =>
    (await send('POST /admin/v1/sign-in/invitation', { token: url.split('/').at(-1), name: 'New' })).status
  const signIn = async (url: string): Promise<number> =>
    (await send('POST /admin/v1/sign-in/link', { token: url.split('/').at(-1) })).status
  for (const [change, lost] of [
    [{ role: 'member' }, ['admin', 'viewer']],
    [{ disabled: true }, ['admin', 'viewer']],
    [{ role: 'owner' }, []],
    [{ name: 'Renamed' }, []],
    ['deleted', ['admin', 'viewer']]
  ] as const) {
    const admin = await user('admin')
    const path = `/admin/v1/users/${admin.user.id}`
    const invited: Array<readonly [role: string, url: string]> = []
    for (const role of ['admin', 'viewer']) {
      invited.push([role, (await admin.send('POST /admin/v1/invitations', { role })).body.url])
    }
    const link = (await admin.send(`POST /admin/v1/users/${other.user.id}/link`)).body.url
    const done = change === 'deleted'
      ? await owner.send(`DELETE ${path}`)
      : await owner.send(`POST ${path}`, change)
    t.equal(done.status, 200)
    const ended: string[] = []
    for (const [role, url] of invited) if (await accept(url) === 401) ended.push(role)
    t.same(ended, lost, JSON.stringify(change))
    t.equal(await signIn(link), lost.length > 0 ? 401 : 200)
  }
  const second = await user('owner')
  const kept = (await owner.send('POST /admin/v1/invitations', { role: 'admin' })).body.url
  const higher = (await owner.send('POST /admin/v1/invitations', { role: 'owner' })).body.url
  t.equal((await second.send(`POST /admin/v1/users/${owner.user.id}`, { role: 'admin' })).status, 200)
  t.same([await accept(higher), await accept(kept)], [401, 200], 'an admin may still invite admins')
})

t.test('a one-time link ends with a new password', async t => {
  const { user, send } = await adminGateway(t)
  const [owner, member] = [await user('owner'), await user('member')]
  const { url } = (await owner.send(`POST /admin/v1/users/${member.user.id}/link`)).body
  t.equal(
    (await member.send('POST /admin/v1/profile/password', { new_password: 'tangerine-otter-quartz-91' }))
      .status,
    200
  )
  t.equal((await send('POST /admin/v1/sign-in/link', { token: url.split('/').at(-1) })).status, 401)
})

t.test('no link is created for a user whose role has risen meanwhile', async t => {
  const { user, admin: { accounts }, afterRead, database } = await adminGateway(t)
  const [admin, member] = [await user('admin'), await user('member')]
  afterRead('users', async () =>
    afterRead('users', async () => await accounts.users.update(member.user.id, { role: 'owner' }))
  )
  t.equal((await admin.send(`POST /admin/v1/users/${member.user.id}/link`)).status, 403)
  t.same(await database.query.selectFrom('sign_in_links').selectAll().execute(), [])
})

t.test('no one changes a user whose role has risen meanwhile', async t => {
  const { user, admin: { accounts: { users } }, afterRead } = await adminGateway(t)
  const [, admin, member] = [await user('owner'), await user('admin'), await user('member')]
  const path = `/admin/v1/users/${member.user.id}`
  for (const [route, body] of [
    [`POST ${path}`, { disabled: true }],
    [`POST ${path}`, { role: 'viewer' }],
    [`DELETE ${path}`]
  ] as const) {
    await users.update(member.user.id, { role: 'member' })
    const promote = (): void =>
      afterRead('users', async () => await users.update(member.user.id, { role: 'owner' }))
    // the requesting user is read before the body and after it
    afterRead('users', async () => body === undefined ? promote() : afterRead('users', async () => promote()))
    t.equal((await admin.send(route, body)).status, 409, route)
    t.match(await users.find(member.user.id), { role: 'owner', disabled_at_ms: null })
  }
})

t.test('members are added and removed', async t => {
  const { user } = await adminGateway(t)
  const [owner, member] = [await user('owner'), await user('member')]
  const { id } = (await owner.send('POST /admin/v1/projects', { name: 'p' })).body
  t.equal((await member.send(`GET /admin/v1/projects/${id}`)).status, 404)
  t.match((await owner.send(`POST /admin/v1/projects/${id}/members`, { user_id: member.user.id })).body, {
    user_id: member.user.id,
    role: 'member'
  })
  t.match((await member.send(`GET /admin/v1/projects/${id}`)).body, { members: 1, keys: 0, name: 'p' })
  t.match((await member.send(`GET /admin/v1/projects/${id}/members`)).body.data, [
    { user_id: member.user.id }
  ])
  t.match((await owner.send(`GET /admin/v1/users/${member.user.id}`)).body, {
    projects: [id],
    has_password: false
  })
  t.equal((await owner.send(`DELETE /admin/v1/projects/${id}/members/${member.user.id}`)).status, 200)
  t.equal((await member.send(`GET /admin/v1/projects/${id}`)).status, 404)
})

t.test('unknown fields and invalid values are refused', async t => {
  const { user } = await adminGateway(t)
  const { send } = await user('owner')
  for (const body of [
    { name: 'x', colour: 'red' },
    { name: ' ' },
    { name: 'x'.repeat(101) },
    { name: 'x', limits: { requests_per_minute: 0 } },
    {}
  ]) {
    t.equal((await send('POST /admin/v1/projects', body)).status, 422, JSON.stringify(body))
  }
  t.equal((await send('POST /admin/v1/keys', { name: 'x', endpoints: ['nothing'] })).status, 400)
  t.equal((await send('POST /admin/v1/keys', { name: 'x', expires_at_ms: 1 })).status, 400)
})

t.test(
  'the admin key from the environment has all rights from the first start, other text has none',
  async t => {
    const key = `hga_${'k'.repeat(32)}`
    const { send, user } = await adminGateway(t, { adminKey: new Secret(key) })
    const by = async (secret: string, route: string, body?: object) =>
      await send(route, body, { authorization: `Bearer ${secret}` })
    const made = await by(key, 'POST /admin/v1/keys', { name: 'ci' })
    t.match(made, { status: 200, body: { key: { created_by: 'HEADGATE_ADMIN_KEY' } } })
    t.equal((await by(key, 'POST /admin/v1/admin-keys', { name: 'deploy', role: 'admin' })).status, 200)
    t.equal((await by(key, 'GET /admin/v1/users')).status, 200)
    await user('owner')
    const {
      user: { id }
    } = await user('owner')
    t.equal((await by(key, `POST /admin/v1/users/${id}`, { role: 'viewer' })).status, 200)
    t.match((await by(key, 'GET /admin/v1/audit')).body.data, [
      { action: 'user.update', actor: 'HEADGATE_ADMIN_KEY' }
    ])
    for (const wrong of [`${key}k`, key.slice(0, -1), '', 'hga_']) {
      t.equal((await by(wrong, 'GET /admin/v1/users')).status, 401, wrong)
    }
  }
)

t.test('an admin key sees every project, whatever its role', async t => {
  const { user, send } = await adminGateway(t)
  const owner = await user('owner')
  const { id } = (await owner.send('POST /admin/v1/projects', { name: 'p' })).body
  for (const role of ['member', 'viewer']) {
    const { secret } = (await owner.send('POST /admin/v1/admin-keys', { name: role, role })).body
    const { body } = await send('GET /admin/v1/projects', undefined, { authorization: `Bearer ${secret}` })
    t.same(body.data.map((project: { id: string }) => project.id), ['default', id], role)
  }
  for (const role of ['member', 'viewer'] as const) {
    t.same(
      (await (await user(role)).send('GET /admin/v1/projects')).body.data,
      [],
      `a ${role} with a session sees none`
    )
    t.equal(
      (await (await user(role)).send('POST /admin/v1/admin-keys', { name: 'x' })).status,
      403,
      'and makes no such key'
    )
  }
})

t.test(
  "a member's limits count the spending of their keys; a transferred key counts for its next owner",
  async t => {
    const { user, api, keys, database } = await adminGateway(t)
    const [owner, member] = [await user('owner'), await user('member', ['default'])]
    const route = `POST /admin/v1/users/${member.user.id}`
    const limits = { budget: { usd: 0.01, per: 'total' } }
    t.match(await owner.send(route, { limits: { budget: { usd: 1, every: '7d' } } }), {
      status: 400,
      body: { error: { param: 'limits.budget.every' } }
    })
    t.match((await member.send(route, { limits: null })).status, 403)
    const own = (await member.send('POST /admin/v1/keys', { name: 'own' })).body
    const other = (await member.send('POST /admin/v1/keys', { name: 'other' })).body
    t.match(
      [own.key.owner_id, other.key.owner_id],
      [member.user.id, member.user.id],
      'who makes a key owns it'
    )
    t.match(await member.send(`POST /admin/v1/keys/${own.key.id}`, { owner_id: null }), {
      status: 403,
      body: { error: { param: 'owner_id' } }
    })
    const colleague = await user('member', ['default'])
    const take = `POST /admin/v1/keys/${own.key.id}`
    t.match(
      await colleague.send(take, { owner_id: colleague.user.id }),
      { status: 403, body: { error: { param: 'owner_id' } } },
      'a member takes no key out of the limits of its owner'
    )
    t.equal((await colleague.send(take, { owner_id: member.user.id })).status, 200, 'the same owner')
    t.match(await owner.send(`POST /admin/v1/keys/${own.key.id}`, { owner_id: 'user_none' }), {
      status: 400,
      body: { error: { param: 'owner_id' } }
    })
    t.match((await owner.send(route, { limits })).body, { limits, spent_usd: 0, exhausted: false })
    await keys.refresh()
    t.match(keys.check(own.secret), { member: { id: member.user.id, limits } })
    await database.insertUsage([
      usageRowOf(0, { key_id: own.key.id, cost_nano_usd: 4e6 }),
      usageRowOf(1, { key_id: other.key.id, cost_nano_usd: 6e6 })
    ])
    t.match((await owner.send(`GET /admin/v1/users/${member.user.id}`)).body, {
      spent_usd: 0.01,
      exhausted: true
    })
    t.ok(
      (await owner.send('GET /admin/v1/users')).body.data.some(
        ({ id, exhausted }: { id: string, exhausted: boolean }) => id === member.user.id && exhausted
      )
    )
    const status = async (secret: string): Promise<unknown> =>
      (
        (await (await api.get('/v1/key', { headers: { authorization: `Bearer ${secret}` } })).json()) as {
          limits: unknown
        }
      ).limits
    t.match(await status(other.secret), [
      { of: 'member', id: member.user.id, name: 'budget', limit: 0.01, soft: false, window: 'total' }
    ])
    t.equal(
      (await owner.send(`POST /admin/v1/keys/${own.key.id}`, { owner_id: owner.user.id })).body.owner_id,
      owner.user.id
    )
    t.match((await owner.send(`GET /admin/v1/users/${member.user.id}`)).body, {
      spent_usd: 0.006,
      exhausted: false
    })
    t.equal(keys.check(own.secret)?.member, undefined)
    t.equal((await owner.send(route, { limits: null })).body.limits, null)
    await keys.refresh()
    t.same(await status(other.secret), [])
    await owner.send(route, { limits })
    await keys.refresh()
    t.match(await status(other.secret), [{ of: 'member' }])
    await owner.send(`DELETE /admin/v1/users/${member.user.id}`)
    await keys.refresh()
    t.same(await status(other.secret), [], 'the limits of someone who is gone hold for nobody')
  }
)

t.test('rights lost while the body is being sent are lost for that request', async t => {
  const { user, admin, api, afterRead } = await adminGateway(t)
  const { accounts } = admin
  const routes = Object.entries<AdminRouteSpec>(adminRoutes).filter(
    ([, { request, role }]) => request !== undefined && role !== 'none'
  )
  t.ok(routes.length > 10, 'they are found')
  /** Sends all but the last byte, then that one after `act`, which runs once the rights were checked. */
  const held = async (
    route: string,
    body: object,
    { headers }: Person,
    act: () => Promise<unknown>
  ): Promise<string> => {
    const text = JSON.stringify(body)
    const socket = await raw(t, api.url)
    const isDone = new Promise<void>((resolve, reject) => {
      afterRead('users', async () => await act().then(() => resolve(), reject))
    })
    socket.write([
      `${route.replace(/:\w+/g, 'x')} HTTP/1.1`,
      `host: ${new URL(api.url).host}`,
      'connection: close',
      'content-type: application/json',
      `content-length: ${text.length}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      '',
      text.slice(0, -1)
    ].join('\r\n'))
    await isDone
    socket.write(text.slice(-1))
    return (await rest(socket)).split('\r\n', 1)[0] ?? ''
  }
  for (const [route] of routes) {
    const person = await user('owner')
    const status = await held(route, {}, person, async () => await accounts.sessions.endAll(person.user.id))
    t.match(status, / 401 /, route)
  }
  for (const [change, refusal] of [[{ role: 'viewer' }, / 403 /], [{ disabled: true }, / 401 /]] as const) {
    for (const route of ['POST /admin/v1/invitations', 'POST /admin/v1/users/:user_id']) {
      const person = await user('admin')
      const path = route.replace(':user_id', person.user.id)
      const status = await held(path, { role: 'admin' }, person, async () =>
        await accounts.changeUser(person.user, change))
      t.match(status, refusal, path)
      const { role, disabled_at_ms: disabledMs } = (await accounts.users.find(person.user.id)) ?? person.user
      t.ok(role === 'viewer' || disabledMs !== null, 'the change stays')
    }
  }
  t.same((await accounts.links.listInvitations({ limit: 10 })).data, [])
})

t.test('a change by someone who is demoted before it is stored has no effect', async t => {
  const { user, admin: { accounts }, database, afterRead } = await adminGateway(t)
  const inRead = (number: number, act: () => Promise<unknown>): void =>
    afterRead('users', async () => number === 1 ? await act() : inRead(number - 1, act))
  const other = await user('member')
  // the number of the read of users after which all that was checked is out of date
  for (const [route, reads, body] of [
    ['POST /admin/v1/invitations', 3, { role: 'admin', email: 'new@example.com' }],
    ['POST /admin/v1/users/:self', 2, { role: 'admin' }],
    ['POST /admin/v1/users/:self/link', 1],
    ['POST /admin/v1/users/:other/link', 2],
    ['POST /admin/v1/users/:other', 3, { role: 'admin' }],
    ['DELETE /admin/v1/users/:other', 2]
  ] as const) {
    const person = await user('admin')
    inRead(reads, async () => await accounts.changeUser(person.user, { role: 'viewer' }))
    const path = route.replace(':self', person.user.id).replace(':other', other.user.id)
    const { status, body: answer } = await person.send(path, body)
    t.match([status, answer.error], [403, { message: 'Your role has just changed. Try again.' }], route)
    t.match(await accounts.users.find(person.user.id), { role: 'viewer' }, route)
    t.match(await accounts.users.find(other.user.id), { role: 'member' }, route)
    for (const table of ['invitations', 'sign_in_links'] as const) {
      t.same(await database.query.selectFrom(table).selectAll().execute(), [], `${route}: ${table}`)
    }
  }
})
