/** Sign-in with a certified OpenID Connect provider: who may sign in, as which user, and who may not. */

import t, { type Test } from 'tap'
import { adminGateway, type AdminGateway } from '../../support/admin.ts'
import {
  client,
  identityProvider,
  type IdentityProvider,
  type TestPerson
} from '../../support/identity-provider.ts'
import { hashPassword } from '../../../lib/accounts/passwords.ts'
import { Secret } from '../../../lib/core/secret.ts'
import { eventually } from '../../support/until.ts'
import type { OidcSettings } from '../../../lib/core/settings.ts'

interface Place extends AdminGateway {
  readonly provider: IdentityProvider
  /**
   * Signs a person in with a new browser.
   * @returns the final address, and the session if there is one
   */
  readonly come: (subject: string, person: TestPerson) => Promise<Arrival>
}

// eslint-disable-next-line -- tests read whatever fields they expect
interface Arrival { readonly at: string, readonly session: any }

async function open (
  t: Test,
  parts: Partial<OidcSettings> = {},
  ...auth: Parameters<typeof identityProvider> extends [Test, ...infer Rest] ? Rest : never
): Promise<Place> {
  const provider = await identityProvider(t, ...auth)
  const oidc: OidcSettings = {
    name: 'Example',
    issuer: provider.issuer,
    clientId: client.id,
    clientSecret: new Secret(client.secret),
    scopes: ['openid', 'email', 'profile', 'groups'],
    groupsClaim: 'groups',
    roles: {},
    allowedDomains: [],
    ...parts
  }
  const place = await adminGateway(t, { accounts: { oidc } })
  const { url } = place.api
  provider.allow(`${url}/admin/v1/sign-in/oidc/callback`)
  return {
    ...place,
    provider,
    come: async (subject, person) => {
      provider.people.set(subject, person)
      provider.signsIn = subject
      const browser = new Browser()
      const [at = '', csrf] = (await browser.follow(`${url}/admin/v1/sign-in/oidc`)).split('#/signed-in/')
      const session = await browser.get(`${url}/admin/v1/session`, csrf)
      return { at: at.slice(url.length), session: session.status === 200 ? await session.json() : undefined }
    }
  }
}

/** Keeps cookies by origin, and follows redirects up to the page. */
class Browser {
  readonly #cookies = new Map<string, string>()

  async get (address: string, csrf = ''): Promise<Response> {
    const { origin } = new URL(address)
    const pairs = [...this.#cookies]
      .filter(([key]) => key.startsWith(`${origin} `))
      .map(([key, value]) => `${key.slice(origin.length + 1)}=${value}`)
    const response = await fetch(address, {
      redirect: 'manual',
      headers: { cookie: pairs.join('; '), accept: 'text/html', 'x-headgate-csrf': csrf }
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      this.#cookies.set(`${origin} ${name}`, value)
    }
    return response
  }

  /** @param until stops before opening an address with this text */
  async follow (address: string, until = '/dashboard/'): Promise<string> {
    for (let at = address, steps = 0; steps < 20; steps++) {
      if (at.includes(until)) return at
      const location = (await this.get(at)).headers.get('location')
      if (location === null) return at
      at = new URL(location, at).href
    }
    throw new Error('redirects without an end')
  }
}

const password = 'tangerine-otter-quartz-91'
const hash = await hashPassword(password, 'test')
const ada = { email: 'Ada@Example.com', email_verified: true, name: 'Ada <b>Lovelace</b>' }

t.test('a person known to the provider signs in as a viewer, and as the same user next time', async t => {
  const { come, send, user } = await open(t)
  t.match((await send('GET /admin/v1/sign-in')).body, {
    oidc: { name: 'Example', url: '/admin/v1/sign-in/oidc' },
    first_start: false
  })
  const first = await come('subject-1', ada)
  t.match(first, {
    at: '/dashboard/',
    session: { user: { name: ada.name, email: 'ada@example.com', role: 'viewer' }, needs_credential: false }
  })
  const again = await come('subject-1', { ...ada, email: 'ada.king@example.com' })
  t.equal(again.session.user.id, first.session.user.id, 'by subject, whatever the email is now')
  const acts = (await (await user('owner')).send('GET /admin/v1/audit?action=session')).body.data
  t.match(acts[0], { action: 'session.sign_in', after: { by: 'oidc', role: 'viewer' } })
})

t.test('the audit log shows what a sign-in changed', async t => {
  const {
    come,
    provider,
    admin: {
      accounts: { audit, users }
    }
  } = await open(t, { roles: { ops: 'admin', team: 'member' } })
  await come('subject-1', { ...ada, groups: ['team'] })
  await come('subject-1', { ...ada, groups: ['ops'] })
  const user = await users.findByEmail(ada.email)
  const { data } = await audit.list({ subject: user?.id }, { limit: 10 })
  const changes = new Map(data.map(({ action, before, after }) => [action, { before, after }]))
  t.match(Object.fromEntries(changes), {
    'user.create': { before: null, after: { name: ada.name, email: 'ada@example.com', role: 'member' } },
    'identity.add': { before: null, after: { issuer: provider.issuer, subject: 'subject-1' } },
    'user.update': { before: { role: 'member' }, after: { role: 'admin' } }
  })
  t.equal(data.length, 5, 'with the two sign-ins')
  for (const { actor_id: id, address } of data) t.match([id, address], [user?.id, '127.0.0.1'])
})

t.test("someone else's email does not sign a person in as that user", async t => {
  const { come, user } = await open(t)
  const { user: owner } = await user('owner')
  t.match(await come('unverified', { email: owner.email ?? '', email_verified: false }), {
    at: '/dashboard/?refused=email_taken',
    session: undefined
  })
  const linked = await come('subject-1', { email: owner.email ?? '', email_verified: true })
  t.equal(linked.session.user.id, owner.id, 'a verified one is that of the user')
  t.match(
    await come('subject-2', { email: owner.email ?? '', email_verified: true }),
    { at: '/dashboard/?refused=email_taken' },
    'whom the provider now knows as someone else'
  )
})

t.test('access others created for a user ends when the person with that email first signs in', async t => {
  const {
    come,
    send,
    user,
    admin: { accounts },
    database
  } = await open(t, { roles: { boss: 'owner', team: 'member' } })
  const {
    user: { id },
    send: sendBefore
  } = await user('member')
  const email = 'boss@example.com'
  t.equal((await sendBefore('POST /admin/v1/profile', { email })).status, 200, 'an email that is not theirs')
  await accounts.users.update(id, { password: hash })
  await database.query
    .insertInto('passkeys')
    .values({
      id: 'passkey_1',
      user_id: id,
      name: 'x',
      credential_id: 'x',
      public_key: 'x',
      uses: 0,
      host: 'x',
      created_at_ms: 1,
      last_used_at_ms: null
    })
    .execute()
  const { token } = await accounts.links.createSignIn(id)
  t.match(await come('unverified', { email, email_verified: false, groups: ['boss'] }), {
    at: '/dashboard/?refused=email_taken'
  })
  t.match(
    (await sendBefore('GET /admin/v1/session')).body,
    { has_password: true, passkeys: 1 },
    'a refusal ends nothing'
  )

  const { session } = await come('subject-1', { email, email_verified: true, groups: ['boss'] })
  t.match(session, { user: { id, role: 'owner' }, has_password: false, passkeys: 0 })
  t.same([
    (await sendBefore('GET /admin/v1/session')).status,
    (await send('POST /admin/v1/sign-in/password', { email, password })).status,
    (await send('POST /admin/v1/sign-in/link', { token })).status
  ], [401, 401, 401])
  const [added] = (await accounts.audit.list({ action: 'identity.add' }, { limit: 1 })).data
  t.match(
    [added?.before, added?.after],
    [
      { has_password: true, passkeys: 1 },
      { subject: 'subject-1', has_password: false, passkeys: 0 }
    ]
  )

  await accounts.users.update(id, { password: hash })
  t.match(await come('subject-2', { email, email_verified: true, groups: ['team'] }), {
    at: '/dashboard/?refused=email_taken'
  })
  t.match(
    (await come('subject-1', { email, email_verified: true, groups: ['boss'] })).session,
    { user: { id }, has_password: true },
    'their own password stays'
  )
})

t.test('no one becomes a user by an email that someone else set', async t => {
  const { come, user, send } = await open(t)
  const [owner, admin, member] = [await user('owner'), await user('admin'), await user('member')]
  const mallory = { email: 'mallory@example.com', email_verified: true }
  const { secret } = (await owner.send('POST /admin/v1/admin-keys', { name: 'x' })).body
  for (const [target, headers] of [[owner, { authorization: `Bearer ${secret}` }], [member, {}]] as const) {
    const by = target === member ? admin : { send }
    t.match(
      (await by.send(`POST /admin/v1/users/${target.user.id}`, { email: mallory.email }, headers)).body,
      { email: mallory.email }
    )
    t.match(await come('mallory', mallory), { at: '/dashboard/?refused=email_taken', session: undefined })
    t.equal((await target.send('POST /admin/v1/profile', { email: target.user.email })).status, 200)
  }
  t.equal(
    (await owner.send(`POST /admin/v1/users/${owner.user.id}`, { email: 'own@example.com' })).status,
    200
  )
  t.match(
    (await come('own', { email: 'own@example.com', email_verified: true })).session.user,
    { id: owner.user.id },
    'one that the user has set'
  )
  t.match(
    (await come('member', { email: member.user.email ?? '', email_verified: true })).session.user,
    { id: member.user.id },
    'set again by the user'
  )
})

t.test('overlong claims from the provider are not stored', async t => {
  const { come } = await open(t)
  t.match(await come('s'.repeat(256), ada), { at: /^\/dashboard\/\?refused=/, session: undefined })
  const { session } = await come('s'.repeat(255), {
    ...ada,
    email: `${'e'.repeat(300)}@example.com`,
    name: 'n'.repeat(300)
  })
  t.match(session.user, { name: 'n'.repeat(100), email: null })
})

t.test('groups decide the role at every sign-in; without a listed group no one signs in', async t => {
  const { come, user, admin } = await open(t, { roles: { ops: 'admin', team: 'member' } })
  await user('owner')
  const roleFor = async (groups: readonly string[]) =>
    (await come('subject-1', { ...ada, groups })).session?.user.role
  t.equal(await roleFor(['team']), 'member')
  t.equal(await roleFor(['other', 'team', 'ops']), 'admin', 'the highest counts')
  t.equal(await roleFor(['team']), 'member')
  t.match(await come('subject-1', { ...ada, groups: ['toString'] }), {
    at: '/dashboard/?refused=no_role',
    session: undefined
  })
  t.match(await come('subject-2', { name: 'No groups' }), { at: '/dashboard/?refused=no_role' })
  const found = await admin.accounts.users.findByEmail('ada@example.com')
  await admin.accounts.users.update(found?.id ?? '', { disabled: true })
  t.match(await come('subject-1', { ...ada, groups: ['team'] }), { at: '/dashboard/?refused=user_disabled' })
  const failed = async () =>
    (await admin.accounts.audit.list({ action: 'session.sign_in_failed' }, { limit: 50 })).data
  const noted = await eventually(failed, acts => acts.length >= 3, 'the failures in the audit log')
  t.same(noted.map(({ after }) => after), Array.from({ length: 3 }, () => ({ by: 'oidc' })))
})

t.test('a provider may send one group without a list, and print that an email is verified', async t => {
  const { come } = await open(t, { roles: { ops: 'admin' }, allowedDomains: ['example.com'] })
  const { session } = await come('subject-1', { ...ada, email_verified: 'true', groups: 'ops' })
  t.equal(session?.user.role, 'admin')
  t.match(await come('subject-2', { email: 'b@example.com', email_verified: 'false', groups: 'ops' }), {
    at: '/dashboard/?refused=domain_not_allowed'
  })
})

t.test('nobody loses a role because the provider keeps their groups elsewhere', async t => {
  const { come, user, admin, api } = await open(t, { roles: { ops: 'admin' }, defaultRole: 'viewer' })
  await user('owner')
  t.equal((await come('subject-1', { ...ada, groups: ['ops'] })).session.user.role, 'admin')
  const elsewhere = {
    _claim_names: { groups: 'directory' },
    _claim_sources: { directory: { endpoint: 'https://directory.example.com/groups' } }
  }
  t.match(await come('subject-1', { ...ada, ...elsewhere }), {
    at: '/dashboard/?refused=provider_failed',
    session: undefined
  })
  t.equal((await admin.accounts.users.findByEmail(ada.email))?.role, 'admin')
  const { cause } = await eventually(
    async () => api.lines.find(({ endpoint, cause }) => endpoint !== undefined && cause !== undefined) ?? {},
    line => line['cause'] !== undefined,
    'the reason in the log'
  )
  t.match(JSON.stringify(cause), 'did not include the groups in the token')
})

t.test('the secret of the client is sent as the provider reads it', async t => {
  const { come } = await open(t, {}, 'client_secret_post')
  t.match(await come('subject-1', ada), { at: '/dashboard/', session: { user: { name: ada.name } } })
})

t.test('the last owner keeps the role, whatever the groups say', async t => {
  const { come, user } = await open(t, { roles: { team: 'member' }, defaultRole: 'viewer' })
  const { user: owner } = await user('owner')
  t.match(
    (await come('subject-1', { email: owner.email ?? '', email_verified: true, groups: ['team'] })).session
      .user,
    { id: owner.id, role: 'owner' }
  )
  await user('owner')
  t.equal((await come('subject-1', { groups: [] })).session.user.role, 'viewer')
})

t.test('only verified emails of the allowed domains are accepted', async t => {
  const { come } = await open(t, { allowedDomains: ['Example.com'] })
  t.match(await come('subject-1', ada), { at: '/dashboard/' })
  for (const person of [
    { email: 'a@evil.example', email_verified: true },
    { email: 'a@sub.example.com', email_verified: true },
    { email: 'b@example.com', email_verified: false },
    {}
  ]) {
    t.match(
      await come(JSON.stringify(person), person),
      { at: '/dashboard/?refused=domain_not_allowed', session: undefined },
      JSON.stringify(person)
    )
  }
})

t.test('a page of another site cannot start a sign-in', async t => {
  const { api: { url } } = await open(t)
  for (const [site, status] of [
    ['cross-site', 403],
    ['same-site', 403],
    ['same-origin', 303],
    ['none', 303]
  ] as const) {
    const response = await fetch(`${url}/admin/v1/sign-in/oidc`, {
      redirect: 'manual',
      headers: { 'sec-fetch-site': site }
    })
    t.equal(response.status, status, site)
    t.equal(response.headers.has('set-cookie'), status === 303, `${site}: the cookie`)
  }
})

t.test('a code works once, in the browser that started', async t => {
  const { api: { url, lines }, provider } = await open(t)
  provider.signsIn = 'subject-1'
  const [victim, thief] = [new Browser(), new Browser()]
  await victim.follow(`${url}/admin/v1/sign-in/oidc`, '/auth?')
  const callback = await thief.follow(`${url}/admin/v1/sign-in/oidc`, '/callback?')
  const end = async (browser: Browser, address: string) =>
    (await browser.get(address)).headers.get('location')
  t.equal(
    await end(victim, callback),
    '/dashboard/?refused=expired',
    'the code of another browser signs no one in'
  )
  t.equal(
    await end(thief, callback.replace(/code=[^&]+/, 'code=wrong')),
    '/dashboard/?refused=provider_failed'
  )
  t.equal(await end(thief, callback), '/dashboard/?refused=expired', 'a second time')
  t.ok(lines.some(({ status, cause }) => status === 303 && cause !== undefined), 'the log says why')
})

t.test(
  'an unreachable provider is reported on the page; without a configured one there is no such sign-in',
  async t => {
    const place = await open(t, { issuer: 'http://127.0.0.1:9' })
    t.match(await place.come('subject-1', ada), { at: '/dashboard/?refused=provider_failed' })
    const {
      api: { url }
    } = await adminGateway(t)
    t.equal((await fetch(`${url}/admin/v1/sign-in/oidc`, { redirect: 'manual' })).status, 404)
  }
)
