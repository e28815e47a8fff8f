/** Sessions: how they start and end, and what cannot start one. */

import t from 'tap'
import { hashPassword } from '../../../lib/accounts/passwords.ts'
import { adminRoutes, type AdminRouteSpec } from '../../../schemas/admin/routes.ts'
import { adminGateway, type AdminGateway } from '../../support/admin.ts'
import { eventually } from '../../support/until.ts'

const password = 'tangerine-otter-quartz-91'
const [hash, otherHash] = await Promise.all([
  hashPassword(password, 'test'),
  hashPassword(`${password}!`, 'test')
])
const signInRoute = 'POST /admin/v1/sign-in/password'

/** Gives a user a password. */
async function withPassword ({ admin }: AdminGateway, id: string): Promise<void> {
  await admin.accounts.users.update(id, { password: hash })
}

function cookieOf (response: Response): string {
  return response.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
}

t.test(
  'a password starts a session whose cookie is hidden from scripts and other sites',
  async t => {
    const place = await adminGateway(t)
    const { user } = await place.user('member')
    await withPassword(place, user.id)
    const { status, body, response } = await place.send(signInRoute, {
      email: 'MEMBER-1@example.com',
      password
    })
    t.equal(status, 200)
    t.match(
      response.headers.get('set-cookie'),
      /^headgate_session=[\w-]{43}; Path=\/admin; HttpOnly; SameSite=Lax; Max-Age=1209600$/
    )
    t.match(body, { user: { id: user.id, role: 'member' }, has_password: true, needs_credential: false })
    const cookie = cookieOf(response)
    const session = { cookie, 'x-headgate-csrf': body.csrf_token }
    t.match((await place.send('GET /admin/v1/session', undefined, session)).body, {
      user: { id: user.id },
      csrf_token: undefined
    })
    const out = await place.send('DELETE /admin/v1/session', undefined, session)
    t.match(out.response.headers.get('set-cookie'), /^headgate_session=; .*Max-Age=0$/)
    t.equal((await place.send('GET /admin/v1/session', undefined, session)).status, 401, 'it has ended')
  }
)

t.test('a session says whether bodies of calls are kept', async t => {
  const place = await adminGateway(t)
  const { send } = await place.user('owner')
  const keptBodies = async (): Promise<boolean> =>
    (await send('GET /admin/v1/session')).body.features.keep_bodies
  t.equal(await keptBodies(), false)
  const { settings } = place.api.gateway.services
  const rule = {
    project: '*',
    keepMs: 60_000,
    maxBytes: 1000,
    redact: { fields: [], patterns: [] },
    readableBy: 'admin'
  } as const
  await place.api.gateway.reload({ ...settings, calls: { ...settings.calls, keepBodies: [rule] } })
  t.equal(await keptBodies(), true)
})

t.test('a session names every project that its user sees', async t => {
  const { admin: { accounts: { projects } }, user } = await adminGateway(t)
  const made = await Promise.all(Array.from({ length: 210 }, async (_, number) =>
    await projects.create({ name: `Project ${number}` })))
  const [first, archived] = made
  await projects.archive(archived?.id ?? '')
  const seenBy = async (role: 'admin' | 'member', of: readonly string[] = []): Promise<string[]> => {
    const { body } = await (await user(role, of)).send('GET /admin/v1/session')
    return body.projects.map((project: { name: string }) => project.name)
  }
  t.equal((await seenBy('admin')).length, 210, 'with the default project, without the archived one')
  t.same(await seenBy('member', [first?.id ?? '']), ['Project 0'])
  t.same(await seenBy('member'), [])
})

t.test('a wrong password and an unknown email look alike, and guessing is soon blocked', async t => {
  const place = await adminGateway(t)
  const { user } = await place.user('owner')
  await withPassword(place, user.id)
  const answers = [
    await place.send(signInRoute, { email: user.email, password: 'wrong' }),
    await place.send(signInRoute, { email: 'no@example.com', password: 'wrong' })
  ]
  t.same(answers[0]?.body, answers[1]?.body)
  t.same(
    answers.map(({ status }) => status),
    [401, 401]
  )
  const attempts = await Promise.all(
    Array.from(
      { length: 6 },
      async () => (await place.send(signInRoute, { email: user.email, password: 'wrong' })).status
    )
  )
  t.same(
    attempts.toSorted((a, b) => a - b),
    [401, 401, 401, 401, 429, 429],
    'those at the same moment count as well'
  )
  t.equal((await place.send(signInRoute, { email: user.email, password })).status, 429, 'the right one too')
  const failed = async () =>
    (await place.admin.accounts.audit.list({ action: 'session.sign_in_failed' }, { limit: 50 })).data
  const noted = await eventually(failed, acts => acts.length >= 6, 'the failures in the audit log')
  const act = (subject: string | null): unknown[] => [
    'stranger',
    null,
    subject,
    '127.0.0.1',
    { by: 'password' }
  ]
  t.same(
    noted
      .map(({ actor, actor_id: id, subject, address, after }) => [actor, id, subject, address, after])
      .toSorted((a, b) => Number(a[2] === null) - Number(b[2] === null)),
    [...Array.from({ length: 5 }, () => act(user.id)), act(null)],
    'the one of no user without what was given as a name'
  )
})

t.test('a new password stops a pending sign-in with the old one', async t => {
  const place = await adminGateway(t)
  const { user } = await place.user('owner')
  await withPassword(place, user.id)
  const { users, sessions, audit } = place.admin.accounts
  place.afterRead('users', async () => {
    await users.update(user.id, { password: otherHash })
    await sessions.endAll(user.id)
  })
  const late = await place.send(signInRoute, { email: user.email, password })
  t.match(
    [late.status, late.body.error?.code, late.response.headers.get('set-cookie')],
    [401, 'invalid_credentials', null]
  )
  t.same(await sessions.list(user.id, ''), [])
  t.same((await audit.list({ action: 'session' }, { limit: 10 })).data, [], 'no one has signed in')
})

t.test('an ended session sets no password, even in a request already sent', async t => {
  const place = await adminGateway(t)
  const { user, send } = await place.user('owner')
  const { users, sessions } = place.admin.accounts
  place.afterRead('users', async () => await sessions.endAll(user.id))
  t.equal((await send('POST /admin/v1/profile/password', { new_password: password })).status, 401)
  t.match([(await users.find(user.id))?.password, await sessions.list(user.id, '')], [null, []])
})

t.test('a session id cannot be chosen, and a new session ends the old one', async t => {
  const place = await adminGateway(t)
  const { user, cookie: old, csrf } = await place.user('owner')
  await withPassword(place, user.id)
  const chosen = `headgate_session=${'A'.repeat(43)}`
  for (const cookie of [chosen, old]) {
    const { response } = await place.send(signInRoute, { email: user.email, password }, { cookie })
    t.not(cookieOf(response), cookie)
    t.equal(
      (await place.send('GET /admin/v1/session', undefined, { cookie, 'x-headgate-csrf': csrf })).status,
      401
    )
  }
})

t.test('requests from other sites have no effect', async t => {
  const place = await adminGateway(t)
  const { cookie, csrf } = await place.user('owner')
  const host = new URL(place.api.url).host
  const project = async (headers: Record<string, string>) =>
    await place.send('POST /admin/v1/projects', { name: 'p' }, { cookie, ...headers })
  for (const headers of [
    {},
    { 'x-headgate-csrf': '' },
    { 'x-headgate-csrf': `${csrf}x` },
    { 'x-headgate-csrf': csrf.replace(/.$/, '_') },
    { 'x-headgate-csrf': csrf, 'sec-fetch-site': 'cross-site' },
    { 'x-headgate-csrf': csrf, 'sec-fetch-site': 'same-site' },
    { 'x-headgate-csrf': csrf, origin: 'https://evil.example' },
    { 'x-headgate-csrf': csrf, origin: 'null' },
    { 'x-headgate-csrf': csrf, origin: `http://${host}.evil.example` }
  ]) {
    t.equal((await project(headers)).status, 403, JSON.stringify(headers))
  }
  t.equal(
    (
      await place.send('GET /admin/v1/session', undefined, {
        cookie,
        'x-headgate-csrf': csrf,
        'sec-fetch-site': 'cross-site'
      })
    ).status,
    403,
    'nor do they read'
  )
  t.equal(
    (
      await place.send(
        'POST /admin/v1/sign-in/link',
        { token: 'x'.repeat(43) },
        { origin: 'https://evil.example' }
      )
    ).status,
    403,
    'nor sign anyone in'
  )
  t.equal(
    (await project({ 'x-headgate-csrf': csrf, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }))
      .status,
    200
  )
  const form = await fetch(`${place.api.url}/admin/v1/projects`, {
    method: 'POST',
    headers: { cookie, 'x-headgate-csrf': csrf, 'content-type': 'text/plain' },
    body: '{"name":"x"}'
  })
  t.equal(form.status, 415, 'what a form can send is no request')
})

t.test('the cookie alone, which browsers send to every port of the host, gives no access', async t => {
  const place = await adminGateway(t)
  const [{ cookie, send, user }, other] = [await place.user('owner'), await place.user('owner')]
  const { database, admin } = place
  const [row] = await database.query
    .selectFrom('sessions')
    .select(['csrf_token', 'digest'])
    .where('user_id', '=', user.id)
    .execute()
  for (const [route, { role }] of Object.entries<AdminRouteSpec>(adminRoutes)) {
    if (role === 'none') continue
    const refusal = route.startsWith('GET') ? 401 : 403
    for (const token of [undefined, '', other.csrf, row?.csrf_token, row?.digest]) {
      const headers = { cookie, ...token !== undefined && { 'x-headgate-csrf': token } }
      t.equal(
        (
          await place.send(
            route.replaceAll(/:\w+/g, 'nothing'),
            route.startsWith('POST') ? {} : undefined,
            headers
          )
        ).status,
        refusal,
        route
      )
    }
  }
  t.notMatch(JSON.stringify((await send('GET /admin/v1/session')).body), /token/)
  await admin.accounts.users.update(user.id, { password: hash })
  const again = await place.send(signInRoute, { email: user.email, password }, { cookie })
  t.match(again.body.csrf_token, /^[\w-]{43}$/)
  t.equal((await send('GET /admin/v1/session')).status, 401, 'a sign-in replaces both')
})

t.test('a session ends with its lifetime and with its user', async t => {
  const { user, database, admin, send } = await adminGateway(t)
  const [expired, idle, disabled, removed, owner] = [
    await user('admin'),
    await user('admin'),
    await user('admin'),
    await user('admin'),
    await user('owner')
  ]
  const now = Date.now()
  await database.query
    .updateTable('sessions')
    .set({ expires_at_ms: now })
    .where('user_id', '=', expired.user.id)
    .execute()
  await database.query
    .updateTable('sessions')
    .set({ last_seen_at_ms: now - 4 * 86_400_000 })
    .where('user_id', '=', idle.user.id)
    .execute()
  t.equal((await owner.send(`POST /admin/v1/users/${disabled.user.id}`, { disabled: true })).status, 200)
  await admin.accounts.users.update(disabled.user.id, { disabled: false })
  t.equal((await owner.send(`DELETE /admin/v1/users/${removed.user.id}`)).status, 200)
  for (const { headers, user } of [expired, idle, disabled, removed]) {
    t.equal((await send('GET /admin/v1/session', undefined, headers)).status, 401, user.name)
  }
})

t.test('a one-time link works once, and lets its user set a password', async t => {
  const { admin, send } = await adminGateway(t)
  t.match((await send('GET /admin/v1/sign-in')).body, { first_start: true, password: false })
  const { token } = await admin.accounts.createOwnerLink()
  const { body, response } = await send('POST /admin/v1/sign-in/link', { token })
  t.match(body, { user: { role: 'owner', email: null }, needs_credential: true })
  const again = await send('POST /admin/v1/sign-in/link', { token })
  t.match([again.status, again.body.error.code], [401, 'invalid_credentials'])
  const session = { cookie: cookieOf(response), 'x-headgate-csrf': body.csrf_token }
  const set = async (request: object) => await send('POST /admin/v1/profile/password', request, session)
  t.equal((await set({ new_password: password })).body.error.param, 'email', 'a password needs a name')
  t.equal(
    (await set({ new_password: 'password12345', email: 'a@example.com' })).body.error.param,
    'new_password'
  )
  const done = await set({ new_password: password, email: 'a@example.com' })
  const [entry] = (await admin.accounts.audit.list({ action: 'user.set_password' }, { limit: 1 })).data
  t.same(
    [entry?.before, entry?.after],
    [{ email: null }, { email: 'a@example.com' }],
    'the audit log has the new name to sign in with'
  )
  t.match(done.body, { has_password: true, needs_credential: false })
  t.equal(
    (await send('GET /admin/v1/session', undefined, session)).status,
    401,
    'the session has another cookie and token now'
  )
  const next = { cookie: cookieOf(done.response), 'x-headgate-csrf': done.body.csrf_token }
  const change = async (current?: string) =>
    (
      await send(
        'POST /admin/v1/profile/password',
        { new_password: `${password}!`, current_password: current },
        next
      )
    ).status
  t.same(
    [await change(), await change('wrong'), await change(password)],
    [401, 401, 200],
    'from now on the one before is needed'
  )
  t.match((await send('GET /admin/v1/sign-in')).body, { first_start: false, password: true })
})

t.test('wrong links and invitations, which nobody can guess, lock nobody out', async t => {
  const { admin, user, send } = await adminGateway(t)
  const { token } = await admin.accounts.createOwnerLink()
  const { url } = (await (await user('admin')).send('POST /admin/v1/invitations', { role: 'viewer' })).body
  for (let index = 0; index < 60; index++) {
    const wrong = `${index}`.padStart(43, 'x')
    t.equal((await send('POST /admin/v1/sign-in/link', { token: wrong })).status, 401)
    t.equal((await send('POST /admin/v1/sign-in/invitation', { token: wrong, name: 'x' })).status, 401)
    t.equal((await send('POST /admin/v1/invitation', { token: wrong })).status, 404)
  }
  t.equal((await send('POST /admin/v1/sign-in/link', { token })).status, 200)
  t.equal(
    (await send('POST /admin/v1/sign-in/invitation', { token: url.split('/').at(-1), name: 'New' })).status,
    200
  )
  const failed = async () =>
    (await admin.accounts.audit.list({ action: 'session.sign_in_failed' }, { limit: 200 })).data
  const noted = await eventually(failed, acts => acts.length >= 100, 'the failures in the audit log')
  t.same(
    noted.map(({ subject }) => subject),
    Array.from({ length: 100 }, () => null),
    'of the 120 as many as there may be'
  )
  t.match(
    noted
      .slice(0, 2)
      .map(({ after }) => after)
      .toSorted((a, b) => String(a?.['by']).localeCompare(String(b?.['by']))),
    [{ by: 'invitation' }, { by: 'link' }]
  )
})

t.test('an invitation creates a user with its role and projects, once', async t => {
  const { api, user, send } = await adminGateway(t)
  const admin = await user('admin')
  const { id: project } = (await admin.send('POST /admin/v1/projects', { name: 'website' })).body
  const invite = async (request: object) => await admin.send('POST /admin/v1/invitations', request)
  t.equal((await invite({ role: 'owner' })).status, 403, 'no one gives more than they have')
  t.equal((await invite({ role: 'viewer', projects: ['nothing'] })).status, 404)
  const { invitation, url } = (
    await invite({ role: 'member', email: 'New@Example.com', projects: [project] })
  ).body
  const token = url.split('/').at(-1)
  t.match((await send('POST /admin/v1/invitation', { token })).body, {
    role: 'member',
    email: 'new@example.com',
    invited_by: admin.user.name
  })
  const { body } = await send('POST /admin/v1/sign-in/invitation', { token, name: 'New', password })
  t.match(body, {
    user: { name: 'New', email: 'new@example.com', role: 'member' },
    projects: [{ id: project, name: 'website' }],
    has_password: true
  })
  t.equal((await send('POST /admin/v1/sign-in/invitation', { token, name: 'Newer' })).status, 401)
  t.same((await admin.send('GET /admin/v1/invitations')).body.data, [])
  const withdrawn = (await invite({ role: 'viewer' })).body
  await admin.send(`DELETE /admin/v1/invitations/${withdrawn.invitation.id}`)
  t.equal((await send('POST /admin/v1/invitation', { token: withdrawn.url.split('/').at(-1) })).status, 404)
  t.equal(
    (await fetch(`${api.url}/admin/v1/invitation?token=${token}`)).status,
    405,
    'a token is never part of an address'
  )
  t.equal(invitation.url, undefined, 'the list does not have the link')
})

t.test('users see and end their own sessions', async t => {
  const { user, admin, send } = await adminGateway(t)
  const {
    user: { id },
    send: own
  } = await user('viewer')
  const { token, csrfToken } = await admin.accounts.sessions.create(
    id,
    { address: '192.0.2.1', userAgent: 'other' },
    false
  )
  const { data } = (await own('GET /admin/v1/sessions')).body
  t.same(
    data
      .map((one: { current: boolean, user_agent: string | null }) => [one.current, one.user_agent])
      .toSorted(),
    [
      [false, 'other'],
      [true, null]
    ]
  )
  const other = data.find((one: { current: boolean }) => !one.current)
  t.equal(
    (await (await user('owner')).send(`DELETE /admin/v1/sessions/${other.id}`)).status,
    404,
    'not those of others'
  )
  t.equal((await own(`DELETE /admin/v1/sessions/${other.id}`)).status, 200)
  t.equal(
    (
      await send('GET /admin/v1/session', undefined, {
        cookie: `headgate_session=${token}`,
        'x-headgate-csrf': csrfToken
      })
    ).status,
    401
  )
})
