/** Passkeys: how they are added and used, and what cannot sign anyone in. */
import { eventually } from '../../support/until.ts'

import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { adminGateway, type AdminGateway, type Person, type Send } from '../../support/admin.ts'
import { passkeyDevice, type PasskeyDevice } from '../../support/passkey-device.ts'
import { settings } from '../../support/settings.ts'

const page = 'https://ai.example.com'
const fromPage = { origin: page }
const begin = 'POST /admin/v1/sign-in/passkey/options'
const signIn = 'POST /admin/v1/sign-in/passkey'

async function open (t: Test): Promise<AdminGateway> {
  return await adminGateway(t, { server: { ...settings().server, publicUrl: page } })
}

/** Adds a new device for a user. */
async function register ({ send }: Person): Promise<PasskeyDevice> {
  const device = passkeyDevice()
  const {
    body: { challenge_id, options }
  } = await send('POST /admin/v1/passkeys/options', undefined, fromPage)
  const { status } = await send(
    'POST /admin/v1/passkeys',
    { challenge_id, name: 'Laptop', credential: device.create(options, page) },
    fromPage
  )
  if (status !== 200) throw new Error(`status ${status}`)
  return device
}

/** Starts a sign-in, and returns what its browser receives. */
async function challenge ({ send }: AdminGateway) {
  const { body, response } = await send(begin, undefined, fromPage)
  return {
    id: body.challenge_id,
    options: body.options,
    cookie: response.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  }
}

t.test('a passkey signs its user in, and shows when it was last used', async t => {
  const place = await open(t)
  const person = await place.user('member')
  t.match((await place.send('GET /admin/v1/sign-in')).body, { passkey: false, first_start: true })
  const device = await register(person)
  t.match((await place.send('GET /admin/v1/sign-in')).body, { passkey: true, first_start: false })
  t.match((await person.send('GET /admin/v1/session')).body, { passkeys: 1, needs_credential: false })

  const { id, options, cookie } = await challenge(place)
  const { status, body, response } = await place.send(
    signIn,
    { challenge_id: id, credential: device.prove(options, page) },
    { ...fromPage, cookie }
  )
  t.equal(status, 200)
  t.match(body, { user: { id: person.user.id } })
  t.match(response.headers.get('set-cookie'), /^headgate_session=/)
  const { data: [passkey] } = (await person.send('GET /admin/v1/passkeys')).body
  t.match(passkey, { name: 'Laptop', host: 'ai.example.com', last_used_at_ms: Number })

  t.equal(
    (await (await place.user('owner')).send(`DELETE /admin/v1/passkeys/${passkey.id}`)).status,
    404,
    'others do not remove it'
  )
  t.equal((await person.send(`DELETE /admin/v1/passkeys/${passkey.id}`)).status, 200)
  const next = await challenge(place)
  t.equal(
    (
      await place.send(
        signIn,
        { challenge_id: next.id, credential: device.prove(next.options, page) },
        { ...fromPage, cookie: next.cookie }
      )
    ).status,
    401
  )
  const acts = (await (await place.user('owner')).send('GET /admin/v1/audit?action=passkey')).body.data
  t.same(acts.map(({ action }: { action: string }) => action), ['passkey.delete', 'passkey.add'])
})

t.test('a proof works once, in the browser that started, for this page and this passkey', async t => {
  const place = await open(t)
  const device = await register(await place.user('owner'))
  const expired = await challenge(place)
  await place.database.query.updateTable('challenges').set({ expires_at_ms: Date.now() }).execute()
  const [one, other] = [await challenge(place), await challenge(place)]
  const send = async (from: typeof one, proof: object, cookie = from.cookie) =>
    (await place.send(signIn, { challenge_id: from.id, credential: proof }, { ...fromPage, cookie })).status

  t.equal(await send(expired, device.prove(expired.options, page)), 401, 'after its time')
  t.equal(
    await send(one, device.prove(one.options, page), other.cookie),
    401,
    'with the cookie of another browser'
  )
  t.equal(await send(one, device.prove(one.options, page), ''), 401, 'without a cookie')
  const proof = device.prove(one.options, page)
  t.equal(await send(one, proof), 200)
  t.equal(await send(one, proof), 401, 'a second time')
})

t.test('a proof for anything else signs no one in', async t => {
  const place = await open(t)
  const device = await register(await place.user('owner'))
  const cases: ReadonlyArray<
    readonly [name: string, prove: (options: Parameters<PasskeyDevice['prove']>[0]) => object]
  > = [
    ['another page', options => device.prove(options, 'https://evil.example')],
    ['another host', options => device.prove({ ...options, rpId: 'evil.example' }, page)],
    ['another challenge', options => device.prove({ ...options, challenge: 'c'.repeat(43) }, page)],
    ['a device that was copied', options => device.prove(options, page, 0)]
  ]
  device.prove((await challenge(place)).options, page, 7)
  const seen = await challenge(place)
  t.equal(
    (
      await place.send(
        signIn,
        { challenge_id: seen.id, credential: device.prove(seen.options, page, 8) },
        { ...fromPage, cookie: seen.cookie }
      )
    ).status,
    200
  )
  for (const [name, prove] of cases) {
    const { id, options, cookie } = await challenge(place)
    const { status, body } = await place.send(
      signIn,
      { challenge_id: id, credential: prove(options) },
      { ...fromPage, cookie }
    )
    t.match([status, body.error.code], [401, 'invalid_credentials'], name)
  }
  const failed = async () =>
    (await place.admin.accounts.audit.list({ action: 'session.sign_in_failed' }, { limit: 50 })).data
  const noted = await eventually(
    failed,
    acts => acts.length >= cases.length,
    'the failures in the audit log'
  )
  t.same(
    noted.map(({ after }) => after),
    cases.map(() => ({ by: 'passkey' }))
  )
})

t.test('a passkey is added by the session that started, once, and from its own page', async t => {
  const place = await open(t)
  const [person, thief] = [await place.user('member'), await place.user('member')]
  const request = async () =>
    (await person.send('POST /admin/v1/passkeys/options', undefined, fromPage)).body
  const add = async (
    { send }: Person,
    { challenge_id, options }: Awaited<ReturnType<typeof request>>,
    origin = page
  ) =>
    (
      await send(
        'POST /admin/v1/passkeys',
        { challenge_id, name: 'Telephone', credential: passkeyDevice().create(options, origin) },
        fromPage
      )
    ).status
  t.equal(await add(thief, await request()), 400, 'not by another session')
  t.equal(await add(person, await request(), 'https://evil.example'), 400, 'not by another page')
  const requested = await request()
  t.same([await add(person, requested), await add(person, requested)], [200, 400])
})

/** Sends a request with any `Host`, which fetch does not allow. */
async function sendAs (
  place: AdminGateway,
  origin: string,
  route: string,
  body?: object,
  headers: Record<string, string> = {}
) {
  const [method = '', path = ''] = route.split(' ')
  const sent = request(place.api.url + path, {
    method,
    headers: {
      ...headers,
      origin,
      host: new URL(origin).host,
      ...body !== undefined && { 'content-type': 'application/json' }
    }
  })
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  const [response] = await once(sent, 'response') as [IncomingMessage]
  const answer: Awaited<ReturnType<Send>>['body'] = await json(response)
  return {
    status: response.statusCode,
    body: answer,
    cookie: response.headers['set-cookie']?.[0]?.split(';', 1)[0] ?? ''
  }
}

/**
 * Signs in with a device's proof from a page, passed on by a program that claims an origin in its headers.
 */
async function relay (
  place: AdminGateway,
  device: PasskeyDevice,
  from: string,
  claimed = from
): Promise<number | undefined> {
  const {
    body: { challenge_id, options },
    cookie
  } = await sendAs(place, claimed, begin)
  return (
    await sendAs(
      place,
      claimed,
      signIn,
      { challenge_id, credential: device.prove(options, from) },
      { cookie }
    )
  ).status
}

t.test('a page at an IP address cannot create passkeys', async t => {
  const place = await adminGateway(t)
  const { body } = await (
    await place.user('member')
  ).send('POST /admin/v1/passkeys/options', undefined, { origin: place.api.url })
  t.match(body.error.message, /host names only/)
})

t.test(
  'a proof from a page on another port signs no one in, whatever its server claims',
  async t => {
    const place = await adminGateway(t)
    const { cookie, csrf } = await place.user('owner')
    const [own, other] = ['http://localhost:8080', 'http://localhost:3000']
    const device = passkeyDevice()
    const session = { cookie, 'x-headgate-csrf': csrf }
    const {
      body: { challenge_id, options }
    } = await sendAs(place, own, 'POST /admin/v1/passkeys/options', undefined, session)
    t.equal(
      (
        await sendAs(
          place,
          own,
          'POST /admin/v1/passkeys',
          { challenge_id, name: 'Laptop', credential: device.create(options, own) },
          session
        )
      ).status,
      200
    )
    t.equal(await relay(place, device, own), 200)
    t.equal(await relay(place, device, other), 401)
    t.equal(await relay(place, device, other, own), 401)
    await place.database.query.updateTable('passkeys').set({ origin: null }).execute()
    t.equal(await relay(place, device, other), 200, 'a passkey of an earlier version works as it did')
    t.equal(await relay(place, device, other, own), 401)
  }
)

t.test('with a public address passkeys are created and used only there', async t => {
  const place = await open(t)
  const person = await place.user('owner')
  const device = await register(person)
  t.equal(await relay(place, device, page), 200)
  await place.database.query.updateTable('passkeys').set({ origin: 'http://ai.example.com:8080' }).execute()
  t.equal(await relay(place, device, page), 200, 'also after the gateway got that address')
  for (const origin of [
    'http://ai.example.com',
    'https://ai.example.com:3000',
    'https://sub.ai.example.com'
  ]) {
    const refused = await sendAs(place, origin, begin)
    t.match(
      [refused.status, refused.body.error],
      [400, { code: 'invalid_value', message: /`server\.public_url`/ }],
      origin
    )
    t.equal(await relay(place, device, origin, page), 401, origin)
    const add = await sendAs(place, origin, 'POST /admin/v1/passkeys/options', undefined, {
      cookie: person.cookie,
      'x-headgate-csrf': person.csrf
    })
    t.equal(add.status, 400, origin)
  }
})

t.test(
  'an ended session adds no passkey, and a removed passkey starts no session, even in an open request',
  async t => {
    const place = await open(t)
    const { sessions, passkeys } = place.admin.accounts
    const person = await place.user('member')
    const { id: userId } = person.user
    const device = await register(person)
    const { id, options, cookie } = await challenge(place)
    const proof = { challenge_id: id, credential: device.prove(options, page) }
    const [added] = await passkeys.list(userId)
    place.afterRead('passkeys', async () => await passkeys.remove(userId, added?.id ?? ''))
    t.equal((await place.send(signIn, proof, { ...fromPage, cookie })).status, 401)

    const { body } = await person.send('POST /admin/v1/passkeys/options', undefined, fromPage)
    place.afterRead('users', async () => await sessions.endAll(userId))
    const late = {
      challenge_id: body.challenge_id,
      name: 'Late',
      credential: passkeyDevice().create(body.options, page)
    }
    t.equal((await person.send('POST /admin/v1/passkeys', late, fromPage)).status, 401)
    t.same([await passkeys.list(userId), await sessions.list(userId, '')], [[], []])
  }
)

t.test('a passkey of a disabled or deleted user signs no one in', async t => {
  const place = await open(t)
  const owner = await place.user('owner')
  const member = await place.user('member')
  const device = await register(member)
  const path = `/admin/v1/users/${member.user.id}`
  const [one, other] = [await challenge(place), await challenge(place)]
  const status = async ({ id, options, cookie }: typeof one): Promise<number> => {
    const proof = { challenge_id: id, credential: device.prove(options, page) }
    return (await place.send(signIn, proof, { ...fromPage, cookie })).status
  }
  await owner.send(`POST ${path}`, { disabled: true })
  t.equal(await status(one), 401, 'disabled since the sign-in began')
  t.equal(await status(await challenge(place)), 401, 'disabled before')
  await owner.send(`POST ${path}`, { disabled: false })
  t.equal(await status(await challenge(place)), 200, 'enabled again')
  t.equal((await owner.send(`DELETE ${path}`)).status, 200)
  t.equal(await status(other), 401, 'deleted since the sign-in began')
  t.equal(await status(await challenge(place)), 401, 'deleted before')
})

t.test('a user has at most 20 passkeys, however many were started before', async t => {
  const place = await open(t)
  const { send } = await place.user('viewer')
  const begun: Array<Awaited<ReturnType<Send>>> = []
  for (let index = 0; index < 22; index++) {
    begun.push(await send('POST /admin/v1/passkeys/options', undefined, fromPage))
  }
  const statuses: number[] = []
  for (const { body: { challenge_id, options } } of begun) {
    const credential = passkeyDevice().create(options, page)
    const body = { challenge_id, name: 'Laptop', credential }
    statuses.push((await send('POST /admin/v1/passkeys', body, fromPage)).status)
  }
  t.same(statuses, [...Array<number>(20).fill(200), 409, 409])
})
