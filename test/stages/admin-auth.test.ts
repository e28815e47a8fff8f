import t, { type Test } from 'tap'
import { Admin } from '../../lib/accounts/admin.ts'
import { asGatewayError } from '../../lib/core/errors.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { openKeyStore } from '../../lib/keys/key-store.ts'
import { adminAuth, type AdminCall } from '../../lib/stages/admin-auth.ts'
import { openSqlite } from '../../lib/stores/sqlite/open.ts'
import { settings } from '../support/settings.ts'
import { receivedCall } from '../support/stages.ts'
import { adminRoutes, type AdminRouteSpec } from '../../schemas/admin/routes.ts'
import type { Call } from '../../lib/core/call.ts'
import type { ServerSettings } from '../../lib/core/settings.ts'
import { Done } from '../../schemas/admin/common.ts'

async function open (t: Test): Promise<Admin> {
  const database = await openSqlite(t.testdir())
  const keys = await openKeyStore(database, [])
  t.teardown(async () => {
    keys.close()
    await database.close()
  })
  return new Admin(database, keys)
}

const spec: AdminRouteSpec = {
  operationId: 'x',
  summary: 'x',
  role: 'member',
  scope: 'keys:read',
  answer: Done
}

interface AuthOptions {
  readonly role?: AdminRouteSpec['role']
  /** Default: one of `role`. */
  readonly route?: AdminRouteSpec
  readonly method?: string
  readonly encrypted?: boolean
  readonly server?: ServerSettings
}

async function authed (
  admin: Admin | undefined,
  headers: Call['headers'],
  {
    role = 'member',
    route = { ...spec, role },
    method = 'GET',
    encrypted = false,
    server = settings().server
  }: AuthOptions = {}
): Promise<AdminCall | string> {
  const call = receivedCall({
    headers: { host: 'gateway:8080', ...headers },
    connection: { address: '::ffff:192.0.2.1', encrypted }
  })
  const services = {
    settings: settings({ server }),
    ...admin !== undefined && { admin: async () => admin }
  }
  try {
    for await (const found of adminAuth(services, route, method)(once(call))) return found
  } catch (error) {
    return asGatewayError(error).code
  }
  throw new Error('nothing came out')
}

t.test('a session identifies its user, with the projects that they may see', async t => {
  const admin = await open(t)
  const { users, sessions } = admin.accounts
  for (const [role, projects] of [['owner', undefined], ['member', new Set(['default'])]] as const) {
    const user = await users.create({ name: role, role, projects: ['default'] })
    const { token, csrfToken, row } = await sessions.create(
      user.id,
      { address: null, userAgent: null },
      false
    )
    const proof = { 'x-headgate-csrf': csrfToken }
    const found = await authed(admin, { cookie: `a=b; headgate_session=${token}; c=d`, ...proof })
    t.match(found, {
      principal: { id: user.id, role, session: { id: row.id } },
      origin: { address: '192.0.2.1', secure: false, url: 'http://gateway:8080' }
    })
    t.same(typeof found === 'string' ? found : found.principal?.projects, projects)
    t.equal(
      await authed(admin, { cookie: `headgate_session=${token}`, ...proof }, { encrypted: true }),
      'invalid_api_key',
      'over TLS the cookie has another name'
    )
    t.match(await authed(admin, { cookie: `__Host-headgate=${token}`, ...proof }, { encrypted: true }), {
      origin: { secure: true, url: 'https://gateway:8080' }
    })
  }
})

t.test("an admin key needs no token, and a caller's key is not an admin key", async t => {
  const admin = await open(t)
  const { secret } = await admin.accounts.adminKeys.create({ name: 'ops', role: 'owner', createdBy: 'test' })
  const expired = await admin.accounts.adminKeys.create({
    name: 'old',
    role: 'owner',
    expiresAtMs: Date.now(),
    createdBy: 'test'
  })
  const { secret: caller } = await admin.keys.create({ name: 'caller' }, { id: null, name: 'test' })
  t.match(
    await authed(
      admin,
      { authorization: `Bearer ${secret}`, 'sec-fetch-site': 'cross-site' },
      { method: 'POST' }
    ),
    { principal: { name: 'ops', session: undefined } }
  )
  t.equal(
    await authed(admin, { authorization: `Bearer ${secret}` }, { role: 'self' }),
    'insufficient_permissions'
  )
  for (const key of [expired.secret, caller, `${secret}x`, 'hga_', '']) {
    t.equal(await authed(admin, { authorization: `Bearer ${key}` }), 'invalid_api_key')
  }
})

t.test('without a store there is no admin API', async t => {
  t.equal(await authed(undefined, {}), 'not_found')
})

t.test('beyond loopback a session without a password or passkey may only add one', async t => {
  const admin = await open(t)
  const user = await admin.accounts.users.create({ name: 'Owner', role: 'owner' })
  const { token, csrfToken } = await admin.accounts.sessions.create(
    user.id,
    { address: null, userAgent: null },
    true
  )
  const session = { cookie: `headgate_session=${token}`, 'x-headgate-csrf': csrfToken }
  const server = { ...settings().server, host: '0.0.0.0' }
  t.equal(await authed(admin, session, { server }), 'insufficient_permissions')
  const routes: ReadonlyArray<[string, AdminRouteSpec]> = Object.entries(adminRoutes)
  const allowed = await Promise.all(routes.map(async ([name, route]) => {
    if (route.role === 'none') return []
    return (await authed(admin, session, { server, route })) === 'insufficient_permissions' ? [] : [name]
  }))
  t.same(allowed.flat(), [
    'GET /admin/v1/session',
    'DELETE /admin/v1/session',
    'GET /admin/v1/sessions',
    'DELETE /admin/v1/sessions/:session_id',
    'POST /admin/v1/profile',
    'POST /admin/v1/profile/password',
    'GET /admin/v1/passkeys',
    'POST /admin/v1/passkeys/options',
    'POST /admin/v1/passkeys',
    'DELETE /admin/v1/passkeys/:passkey_id'
  ])
  await admin.accounts.users.update(user.id, { password: 'its hash' })
  t.match(await authed(admin, session, { server }), { principal: { id: user.id } })
})

t.test('the headers of a proxy are used only if it is trusted', async t => {
  const admin = await open(t)
  const headers = {
    'x-forwarded-for': '203.0.113.9, 198.51.100.7',
    'x-forwarded-proto': 'https',
    origin: 'https://ai.example.com'
  }
  const server = { ...settings().server, trustProxy: true, publicUrl: 'https://ai.example.com/' }
  t.match(await authed(admin, headers, { server, role: 'none' }), {
    origin: { address: '198.51.100.7', secure: true, url: 'https://ai.example.com' }
  })
  t.equal(
    await authed(admin, headers, { role: 'none' }),
    'insufficient_permissions',
    'the origin is not its own'
  )
  t.match(await authed(admin, { ...headers, origin: undefined }, { role: 'none' }), {
    origin: { address: '192.0.2.1', secure: false }
  })
  t.match(await authed(admin, { 'x-forwarded-for': 'evil' }, { server, role: 'none' }), {
    origin: { address: '192.0.2.1' }
  })
  t.match(await authed(admin, { host: 'name.example:8080' }, { role: 'none' }), {
    origin: { url: 'http://name.example:8080' }
  })
  for (const host of ['x'.repeat(5000), 'a/b', 'a b']) {
    t.match(
      await authed(admin, { host }, { role: 'none' }),
      { origin: { url: /^http:\/\/127\.0\.0\.1:/ } },
      host.slice(0, 9)
    )
  }
})
