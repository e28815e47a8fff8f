/** Every route of the admin API, for each role and for admin keys. */

import t from 'tap'
import { adminGateway, type Person, type Send } from '../support/admin.ts'
import { testKey } from '../support/gateway.ts'
import { httpServer } from '../support/http-server.ts'
import { passkeyDevice } from '../support/passkey-device.ts'
import { settings } from '../support/settings.ts'
import { usageRowOf } from '../support/usage.ts'
import { CallBodyStore } from '../../lib/stores/call-body-store.ts'
import { adminRows } from '../../pipelines/admin.ts'
import { adminRoutes, type AdminRoute } from '../../schemas/admin/routes.ts'
import { Secret } from '../../lib/core/secret.ts'
import type { Role, Scope } from '../../schemas/admin/common.ts'

interface Case {
  /** The lowest role; `all`: no session is needed, `session`: any session, and no admin key. */
  readonly least: Role | 'all' | 'session'
  readonly scope?: Scope
  /** True: only for admin keys without scopes. */
  readonly unscoped?: boolean
  readonly body?: unknown
}

const cases: Readonly<Partial<Record<AdminRoute, Case>>> = {
  'GET /admin/v1/sign-in': { least: 'all' },
  'POST /admin/v1/sign-in/password': { least: 'all', body: {} },
  'POST /admin/v1/sign-in/link': { least: 'all', body: {} },
  'POST /admin/v1/invitation': { least: 'all', body: {} },
  'POST /admin/v1/sign-in/invitation': { least: 'all', body: {} },
  'GET /admin/v1/session': { least: 'session' },
  'DELETE /admin/v1/session': { least: 'session' },
  'GET /admin/v1/sessions': { least: 'session' },
  'DELETE /admin/v1/sessions/:session_id': { least: 'session' },
  'POST /admin/v1/profile': { least: 'session', body: {} },
  'POST /admin/v1/profile/password': { least: 'session', body: {} },
  'GET /admin/v1/sign-in/oidc': { least: 'all' },
  'GET /admin/v1/sign-in/oidc/callback': { least: 'all' },
  'POST /admin/v1/sign-in/passkey/options': { least: 'all' },
  'POST /admin/v1/sign-in/passkey': { least: 'all', body: {} },
  'GET /admin/v1/passkeys': { least: 'session' },
  'POST /admin/v1/passkeys/options': { least: 'session' },
  'POST /admin/v1/passkeys': { least: 'session', body: {} },
  'DELETE /admin/v1/passkeys/:passkey_id': { least: 'session' },
  'GET /admin/v1/users': { least: 'admin', scope: 'users:read' },
  'GET /admin/v1/users/:user_id': { least: 'admin', scope: 'users:read' },
  'POST /admin/v1/users/:user_id': { least: 'admin', scope: 'users:write', body: {} },
  'DELETE /admin/v1/users/:user_id': { least: 'admin', scope: 'users:write' },
  'POST /admin/v1/users/:user_id/link': { least: 'admin', scope: 'users:write', unscoped: true },
  'GET /admin/v1/invitations': { least: 'admin', scope: 'users:read' },
  'POST /admin/v1/invitations': {
    least: 'admin',
    scope: 'users:write',
    unscoped: true,
    body: { role: 'viewer' }
  },
  'DELETE /admin/v1/invitations/:invitation_id': { least: 'admin', scope: 'users:write' },
  'GET /admin/v1/projects': { least: 'viewer', scope: 'projects:read' },
  'POST /admin/v1/projects': { least: 'admin', scope: 'projects:write', body: {} },
  'GET /admin/v1/projects/:project_id': { least: 'viewer', scope: 'projects:read' },
  'POST /admin/v1/projects/:project_id': { least: 'admin', scope: 'projects:write', body: {} },
  'DELETE /admin/v1/projects/:project_id': { least: 'admin', scope: 'projects:write' },
  'GET /admin/v1/projects/:project_id/members': { least: 'member', scope: 'projects:read' },
  'POST /admin/v1/projects/:project_id/members': { least: 'admin', scope: 'projects:write', body: {} },
  'DELETE /admin/v1/projects/:project_id/members/:user_id': { least: 'admin', scope: 'projects:write' },
  'GET /admin/v1/keys': { least: 'member', scope: 'keys:read' },
  'POST /admin/v1/keys': { least: 'member', scope: 'keys:write', body: {} },
  'GET /admin/v1/keys/:key_id': { least: 'member', scope: 'keys:read' },
  'POST /admin/v1/keys/:key_id': { least: 'member', scope: 'keys:write', body: {} },
  'POST /admin/v1/keys/:key_id/rotate': { least: 'member', scope: 'keys:write', body: {} },
  'DELETE /admin/v1/keys/:key_id': { least: 'member', scope: 'keys:write' },
  'POST /admin/v1/playground/key': { least: 'session', body: {} },
  'GET /admin/v1/admin-keys': { least: 'admin', scope: 'users:read' },
  'POST /admin/v1/admin-keys': { least: 'admin', scope: 'users:write', body: {} },
  'DELETE /admin/v1/admin-keys/:key_id': { least: 'admin', scope: 'users:write' },
  'GET /admin/v1/usage': { least: 'viewer', scope: 'usage:read' },
  'GET /admin/v1/usage.csv': { least: 'viewer', scope: 'usage:read' },
  'GET /admin/v1/usage-exports': { least: 'admin', scope: 'usage:read' },
  'GET /admin/v1/calls.csv': { least: 'member', scope: 'calls:read' },
  'GET /admin/v1/calls': { least: 'member', scope: 'calls:read' },
  'GET /admin/v1/calls/:call_id': { least: 'member', scope: 'calls:read' },
  'GET /admin/v1/calls/:call_id/bodies': { least: 'member', scope: 'bodies:read' },
  'GET /admin/v1/models': { least: 'viewer', scope: 'models:read' },
  'GET /admin/v1/providers': { least: 'viewer', scope: 'models:read' },
  'GET /admin/v1/tool-servers': { least: 'member', scope: 'models:read' },
  'GET /admin/v1/tool-servers/:org/:name': { least: 'member', scope: 'models:read' },
  'GET /admin/v1/configuration': { least: 'admin', scope: 'configuration:read' },
  'GET /admin/v1/configuration/schema': { least: 'admin', scope: 'configuration:read' },
  'POST /admin/v1/configuration/check': { least: 'admin', scope: 'configuration:read', body: {} },
  'POST /admin/v1/configuration': { least: 'owner', scope: 'configuration:write', body: {} },
  'GET /admin/v1/stages': { least: 'member', scope: 'models:read' },
  'POST /admin/v1/stages/try': { least: 'admin', scope: 'configuration:read', body: {} },
  'GET /admin/v1/audit': { least: 'admin', scope: 'audit:read' },
  'GET /admin/v1/alerts': { least: 'admin', scope: 'alerts:read' },
  'GET /admin/v1/alerts/channels': { least: 'admin', scope: 'alerts:read' },
  'POST /admin/v1/alerts/test': { least: 'admin', scope: 'alerts:write', body: {} },
  'POST /admin/v1/usage-exports/run': { least: 'admin', scope: 'usage:write', body: {} }
}

const roles = ['owner', 'admin', 'member', 'viewer'] as const

function expects (least: Case['least'], role: Role | 'none'): 'passes' | 401 | 403 {
  if (least === 'all') return 'passes'
  if (role === 'none') return 401
  return least === 'session' || roles.indexOf(role) <= roles.indexOf(least) ? 'passes' : 403
}

t.test('every registered route is in this table', async t => {
  const served = adminRows.map(({ method, path }) => `${method} ${path}`)
  t.same(served.filter(route => !(route in cases) && route !== 'GET /admin/v1/live-calls'), [])
  t.same(Object.keys(cases).filter(route => !served.includes(route)), [])
})

t.test('each route allows the roles of this table, and admin keys with its scope', async t => {
  const { admin, user, send } = await adminGateway(t)
  const { adminKeys } = admin.accounts
  const people: Partial<Record<Role, Person>> = {}
  for (const role of roles) people[role] = await user(role)
  const { secret: other } = await adminKeys.create({
    name: 'other',
    role: 'owner',
    scopes: ['models:write'],
    createdBy: 'test'
  })
  const { secret: full } = await adminKeys.create({ name: 'full', role: 'owner', createdBy: 'test' })
  const results: string[] = []
  const check = async (
    by: Send,
    route: string,
    body: unknown,
    expected: string | number,
    who: string,
    headers?: Record<string, string>
  ): Promise<void> => {
    const { status } = await by(route.replaceAll(/:\w+/g, 'nothing'), body, headers)
    const found = status === 401 || status === 403 ? status : 'passes'
    // A failed sign-in is a 401 too.
    if (found !== expected && !(expected === 'passes' && route.includes('/sign-in/'))) {
      results.push(`${route} by ${who}: ${status} instead of ${expected}`)
    }
  }
  for (const [route, { least, scope, unscoped = false, body }] of Object.entries(cases)) {
    if (route === 'DELETE /admin/v1/session') continue
    await check(send, route, body, expects(least, 'none'), 'no one')
    for (const role of roles) {
      await check(people[role]?.send ?? send, route, body, expects(least, role), role)
    }
    await check(send, route, body, least === 'all' ? 'passes' : 403, 'a key without the scope', {
      authorization: `Bearer ${other}`
    })
    await check(send, route, body, least === 'all' ? 'passes' : 401, 'a key of the API', {
      authorization: `Bearer ${testKey}`
    })
    if (scope === undefined) continue
    const { secret } = await adminKeys.create({
      name: route,
      role: 'owner',
      scopes: [scope],
      createdBy: 'test'
    })
    await check(send, route, body, unscoped ? 403 : 'passes', 'a key with the scope', {
      authorization: `Bearer ${secret}`
    })
    await check(send, route, body, 'passes', 'a key without scopes', { authorization: `Bearer ${full}` })
  }
  t.same(results, [])
})

type Change = Exclude<AdminRoute, `GET ${string}`>

/** The audit log entry of each route, or the reason why the test below omits it. */
const acts: Readonly<
  Record<Change, { readonly action: string } | 'a sign-in or sign-out' | 'nothing changes' | 'needs a file'>
> = {
  'POST /admin/v1/sign-in/password': 'a sign-in or sign-out',
  'POST /admin/v1/sign-in/link': 'a sign-in or sign-out',
  'POST /admin/v1/sign-in/invitation': 'a sign-in or sign-out',
  'POST /admin/v1/sign-in/passkey': 'a sign-in or sign-out',
  'DELETE /admin/v1/session': 'a sign-in or sign-out',
  'POST /admin/v1/invitation': 'nothing changes',
  'POST /admin/v1/sign-in/passkey/options': 'nothing changes',
  'POST /admin/v1/passkeys/options': 'nothing changes',
  'POST /admin/v1/stages/try': 'nothing changes',
  'POST /admin/v1/configuration/check': 'nothing changes',
  'DELETE /admin/v1/sessions/:session_id': { action: 'session.end' },
  'POST /admin/v1/profile': { action: 'user.update' },
  'POST /admin/v1/profile/password': { action: 'user.set_password' },
  'POST /admin/v1/passkeys': { action: 'passkey.add' },
  'DELETE /admin/v1/passkeys/:passkey_id': { action: 'passkey.delete' },
  'POST /admin/v1/users/:user_id': { action: 'user.update' },
  'DELETE /admin/v1/users/:user_id': { action: 'user.delete' },
  'POST /admin/v1/users/:user_id/link': { action: 'link.create' },
  'POST /admin/v1/invitations': { action: 'invitation.create' },
  'DELETE /admin/v1/invitations/:invitation_id': { action: 'invitation.delete' },
  'POST /admin/v1/projects': { action: 'project.create' },
  'POST /admin/v1/projects/:project_id': { action: 'project.update' },
  'DELETE /admin/v1/projects/:project_id': { action: 'project.archive' },
  'POST /admin/v1/projects/:project_id/members': { action: 'member.add' },
  'DELETE /admin/v1/projects/:project_id/members/:user_id': { action: 'member.remove' },
  'POST /admin/v1/keys': { action: 'key.create' },
  'POST /admin/v1/keys/:key_id': { action: 'key.update' },
  'POST /admin/v1/keys/:key_id/rotate': { action: 'key.rotate' },
  'DELETE /admin/v1/keys/:key_id': { action: 'key.revoke' },
  'POST /admin/v1/playground/key': { action: 'key.create' },
  'POST /admin/v1/admin-keys': { action: 'admin_key.create' },
  'DELETE /admin/v1/admin-keys/:key_id': { action: 'admin_key.revoke' },
  'POST /admin/v1/configuration': 'needs a file',
  'POST /admin/v1/usage-exports/run': { action: 'usage_export.run' },
  'POST /admin/v1/alerts/test': { action: 'alert.test' }
}

t.test('every change is in the audit log once, without secrets', async t => {
  const { url: receiver } = await httpServer(t, (_request, response) => { response.writeHead(204).end() })
  const page = 'https://ai.example.com'
  const { admin, database, user } = await adminGateway(t, {
    server: { ...settings().server, publicUrl: page },
    usage: {
      ...settings().usage,
      exports: { files: { format: 'csv', gzip: false, every: 'hour', directory: t.testdir() } }
    },
    alerts: {
      ...settings().alerts,
      webhooks: {
        ops: {
          url: receiver,
          secret: new Secret('whsec_c2VjcmV0'),
          headers: {},
          events: ['provider.down']
        }
      }
    }
  })
  const { send, user: { id: me } } = await user('owner')
  const { user: { id: other } } = await user('member')
  const { row: session } = await admin.accounts.sessions.create(me, { address: null, userAgent: null }, false)
  const password = 'a horse, a staple and 9 lamps'
  const secrets = [password, 'c2VjcmV0']
  const seen = new Set<string>()
  const change = async (route: Change, body?: object, ids: Readonly<Record<string, string>> = {}) => {
    const act = acts[route]
    const before = await database.query.selectFrom('audit').select('id').execute()
    const path = route.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? '')
    const answer = await send(path, body, { origin: page })
    const after = await database.query.selectFrom('audit').selectAll().orderBy('at_ms').execute()
    const added = after.filter(({ id }) => !before.some(known => known.id === id))
    t.equal(answer.status, 200, `${route} succeeds`)
    t.same(added.map(({ action }) => action), typeof act === 'string' ? [] : [act.action], route)
    const { secret, url } = answer.body
    if (typeof secret === 'string') secrets.push(secret)
    if (typeof url === 'string') secrets.push(url.split('/').at(-1) ?? '')
    for (const text of secrets) t.notOk(JSON.stringify(after).includes(text), `${route}: no secret`)
    seen.add(route)
    return answer.body
  }
  const { id: project_id } = await change('POST /admin/v1/projects', { name: 'p' })
  await change('POST /admin/v1/projects/:project_id', { name: 'q' }, { project_id })
  await change('POST /admin/v1/projects/:project_id/members', { user_id: other }, { project_id })
  await change('DELETE /admin/v1/projects/:project_id/members/:user_id', undefined, {
    project_id,
    user_id: other
  })
  const { key: { id: key_id } } = await change('POST /admin/v1/keys', { name: 'k', project_id })
  await change('POST /admin/v1/keys/:key_id', { name: 'l' }, { key_id })
  await change('POST /admin/v1/keys/:key_id/rotate', {}, { key_id })
  await change('DELETE /admin/v1/keys/:key_id', undefined, { key_id })
  await change('POST /admin/v1/playground/key', { project_id })
  await change('DELETE /admin/v1/projects/:project_id', undefined, { project_id })
  const { key: adminKey } = await change('POST /admin/v1/admin-keys', { name: 'a', role: 'viewer' })
  await change('DELETE /admin/v1/admin-keys/:key_id', undefined, { key_id: adminKey.id })
  const { invitation } = await change('POST /admin/v1/invitations', { role: 'viewer' })
  await change('DELETE /admin/v1/invitations/:invitation_id', undefined, { invitation_id: invitation.id })
  await change('POST /admin/v1/users/:user_id', { name: 'Grace' }, { user_id: other })
  await change('POST /admin/v1/users/:user_id/link', {}, { user_id: other })
  await change('DELETE /admin/v1/users/:user_id', undefined, { user_id: other })
  await change('POST /admin/v1/profile', { name: 'Ada' })
  await change('DELETE /admin/v1/sessions/:session_id', undefined, { session_id: session.id })
  await change('POST /admin/v1/alerts/test', { channel: 'webhooks.ops' })
  await change('POST /admin/v1/usage-exports/run', { target: 'files' })
  const { challenge_id, options } = await change('POST /admin/v1/passkeys/options')
  const credential = passkeyDevice().create(options, page)
  const passkey = await change('POST /admin/v1/passkeys', { challenge_id, name: 'Laptop', credential })
  await change('DELETE /admin/v1/passkeys/:passkey_id', undefined, { passkey_id: passkey.id })
  await change('POST /admin/v1/profile/password', { new_password: password })
  const unseen = Object.entries(acts).filter(([route, act]) => typeof act !== 'string' && !seen.has(route))
  t.same(unseen, [])
})

/** Written into every name and text of the project that the caller may not see. */
const mark = 'zq7foreign'

t.test('for people of one project, data of others appears not to exist', async t => {
  const { admin, database, user } = await adminGateway(t)
  const { send: owner } = await user('owner')
  const made = async (route: string, body: object) => (await owner(route, body)).body
  const { id: own } = await made('POST /admin/v1/projects', { name: 'own' })
  const { id: foreign } = await made('POST /admin/v1/projects', { name: `${mark} project` })
  const { key: { id: ownKey } } = await made('POST /admin/v1/keys', { name: 'own', project_id: own })
  const { key: { id: foreignKey } } = await made('POST /admin/v1/keys', {
    name: `${mark} key`,
    project_id: foreign
  })
  const { user: other } = await user('member', [foreign])
  await admin.accounts.users.update(other.id, { name: `${mark} person`, email: `${mark}@example.com` })
  const { row: session } = await admin.accounts.sessions.create(
    other.id,
    { address: null, userAgent: mark },
    true
  )
  const atMs = Date.now() - 60_000
  await database.insertUsage([
    usageRowOf(1, {
      call_id: `${mark}-call`,
      at_ms: atMs,
      key_id: foreignKey,
      requested_model: mark,
      model: mark,
      provider: mark,
      error_code: mark,
      end_user: mark,
      session: mark,
      tags: JSON.stringify([mark]),
      metadata: JSON.stringify({ [mark]: mark })
    }),
    usageRowOf(2, { call_id: 'own-call', at_ms: atMs, key_id: ownKey, model: 'own', session: 'own' })
  ])
  const body = { media_type: 'text/plain', size_bytes: 1, text: mark, truncated: false, redacted: false }
  await new CallBodyStore(database).add({
    id: 'row-1',
    project_id: foreign,
    readable_by: 'member',
    expires_at_ms: Date.now() + 3_600_000,
    state: 'kept',
    request: body,
    answer: body
  })

  const hidden = [mark, foreign, foreignKey, other.id, session.id, 'row-1']
  const parameters: Readonly<Record<string, string>> = {
    project_id: foreign,
    key_id: foreignKey,
    user_id: other.id,
    call_id: 'row-1',
    session_id: session.id,
    passkey_id: mark,
    org: mark,
    name: mark
  }
  /** Values of filters; the others get the mark. */
  const filters: Readonly<Record<string, readonly string[]>> = {
    project: [foreign, `${own},${foreign}`],
    key: [foreignKey],
    group_by: ['project', 'key', 'model', 'provider', 'end_user', 'session', 'tag'],
    status: ['200'],
    limit: ['1'],
    compare: ['true'],
    bucket: ['minute'],
    from_ms: [String(atMs - 1)],
    until_ms: [String(atMs + 1)],
    at_ms: [String(atMs)],
    cursor: [Buffer.from(`${atMs + 1} row-1`).toString('base64url')]
  }
  const bodies: Readonly<Partial<Record<AdminRoute, readonly object[]>>> = {
    'POST /admin/v1/keys': [
      { name: 'new', project_id: foreign },
      { name: 'new', project_id: own, owner_id: other.id }
    ],
    'POST /admin/v1/keys/:key_id': [{ name: 'x' }, { owner_id: other.id }, { limits: null }],
    'POST /admin/v1/playground/key': [{ project_id: foreign }]
  }
  const faults: string[] = []
  let compared = 0
  const compare = async (send: Send, method: string, path: string, sent?: object): Promise<void> => {
    const asked = JSON.stringify([path, sent])
    const show = async (text: string) => {
      const [path, sent] = JSON.parse(text)
      const { status, body } = await send(`${method} ${path}`, sent ?? undefined)
      const shown = `${status} ${typeof body === 'string' ? body : JSON.stringify(body)}`
      return shown.replaceAll(/"(?:request_id|from_ms|until_ms|at_ms)":[^,}]+/g, '')
    }
    const hide = (text: string): string =>
      hidden.reduce((left, id) => left.replaceAll(id, 'missing'), text)
    const found = await show(asked)
    const missing = await show(hidden.reduce((left, id) => left.replaceAll(id, 'missing'), asked))
    compared++
    if (hide(found) !== missing) faults.push(`${method} ${asked}: ${found}, and for nothing ${missing}`)
    const leaked = hidden.find(id => found.includes(id) && !asked.includes(id))
    if (leaked !== undefined) faults.push(`${method} ${asked}: ${found}`)
  }
  for (const role of ['member', 'viewer'] as const) {
    const { send } = await user(role, [own])
    for (const [route, spec] of Object.entries(adminRoutes)) {
      const [method = '', path = ''] = route.split(' ')
      const ends = path.endsWith('/session') || path.endsWith('/live-calls')
      if (ends || !['self', 'viewer', role].includes(spec.role)) continue
      const place = path.replaceAll(/:(\w+)/g, (_, name: string) => parameters[name] ?? `no id for ${name}`)
      for (const body of bodies[route as AdminRoute] ?? [method === 'POST' ? {} : undefined]) {
        await compare(send, method, place, body)
      }
      for (const name of 'query' in spec ? Object.keys(spec.query) : []) {
        for (const value of filters[name] ?? [mark]) {
          await compare(send, method, `${place}?${String(new URLSearchParams({ [name]: value }))}`)
        }
      }
    }
  }
  t.same(faults, [])
  t.ok(compared > 100, `${compared} pairs`)

  const { send } = await user('member', [own])
  const taken = [
    await send('POST /admin/v1/keys', { name: `${mark} key`, project_id: own }),
    await send(`POST /admin/v1/keys/${ownKey}`, { name: `${mark} key` }),
    await send('POST /admin/v1/profile', { email: `${mark}@example.com` })
  ]
  t.same(
    taken.map(({ status, body }) => [status, body.error.message]),
    [
      [409, 'Another key has this name.'],
      [409, 'Another key has this name.'],
      [409, 'Another user has this email.']
    ],
    'names of keys and emails are unique: that one is taken is all that is said'
  )
})
