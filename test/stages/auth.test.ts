import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { asGatewayError, GatewayError } from '../../lib/core/errors.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { auth } from '../../lib/stages/auth.ts'
import { receivedCall } from '../support/stages.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { AuthedCall, Call } from '../../lib/core/call.ts'
import type { Keys } from '../../lib/keys/keys.ts'

const known = new Map<string, ApiKey>([
  ['good', { id: 'key_1', name: 'good' }],
  ['with some spaces', { id: 'key_2', name: 'spaces' }],
  ['narrow', { id: 'key_3', name: 'narrow', endpoints: ['models'] }],
  ['nothing', { id: 'key_4', name: 'nothing', endpoints: [] }]
])
const keys: Keys = { check: presented => known.get(presented) }

function callWith (headers: Call['headers'], endpoint = 'chat'): Call {
  return receivedCall({
    headers,
    body: async () => await Promise.reject(new Error('the body was read')),
    record: new CallRecord(endpoint)
  })
}

async function authed (call: Call): Promise<AuthedCall> {
  for await (const authed of auth({ keys })(once(call))) return authed
  throw new Error('nothing came out')
}

t.test('a key is read from the headers that may hold one, and set on the call', async t => {
  const accepted: ReadonlyArray<readonly [Call['headers'], string]> = [
    [{ authorization: 'Bearer good' }, 'key_1'],
    [{ authorization: 'bearer good' }, 'key_1'],
    [{ authorization: 'BEARER good' }, 'key_1'],
    [{ 'x-api-key': 'good' }, 'key_1'],
    [{ authorization: 'Bearer with some spaces' }, 'key_2'],
    [{ authorization: 'Bearer good', 'x-api-key': 'wrong' }, 'key_1']
  ]
  for (const [headers, id] of accepted) {
    const call = await authed(callWith(headers))
    t.equal(call.key.id, id, JSON.stringify(headers))
    t.equal(call.record.caller.keyId, id)
  }
})

t.test('a log line says what was refused, without the key', async t => {
  for (const [headers, expected] of [
    [{}, 'no key'],
    [{ authorization: 'Basic eA==' }, 'no key'],
    [{ authorization: 'Bearer ' }, 'no key'],
    [{ 'x-api-key': 'hga_abcdefghijklmnopqrstuvwxyz' }, 'an admin key'],
    [{ authorization: 'Bearer sk-proj-abcdefghijklmnopqrstuvwxyz' }, 'not a gateway key'],
    [{ authorization: 'Bearer "hg_abc"' }, 'not a gateway key'],
    [{ authorization: 'Bearer hg_abcdefghijklmnopqrstuvwxyz' }, 'hg_abc…xyz']
  ] as const) {
    const call = callWith(headers)
    await t.rejects(authed(call), { code: 'invalid_api_key' })
    t.equal(call.record.caller.refusedKey, expected)
  }
})

t.test('of two keys one valid key is enough', async t => {
  t.equal((await authed(callWith({ authorization: 'Bearer wrong', 'x-api-key': 'good' }))).key.id, 'key_1')
  t.equal(
    (await authed(callWith({ authorization: 'Bearer with some spaces', 'x-api-key': 'good' }))).key.id,
    'key_2',
    'Authorization wins'
  )
  await t.rejects(authed(callWith({ authorization: 'Bearer wrong', 'x-api-key': 'wrong' })), {
    code: 'invalid_api_key'
  })
})

t.test('every other key is refused alike, before the body is read', async t => {
  const refused: Readonly<Record<string, Call['headers']>> = {
    'no header': {},
    'an empty header': { authorization: '' },
    'a scheme alone': { authorization: 'Bearer' },
    'an empty key': { authorization: 'Bearer ' },
    'a key without a scheme': { authorization: 'good' },
    'another scheme': { authorization: 'Basic good' },
    'a wrong key': { authorization: 'Bearer wrong' },
    'a key with a space before it': { authorization: 'Bearer  good' },
    'an empty X-API-Key': { 'x-api-key': '' },
    'two of them': { 'x-api-key': ['good', 'good'] }
  }
  const bodies = new Set<string>()
  for (const [title, headers] of Object.entries(refused)) {
    const call = callWith(headers)
    const error = asGatewayError(await authed(call).catch((error: unknown) => error))
    t.match(error, { code: 'invalid_api_key', status: 401 }, title)
    t.equal(call.record.caller.keyId, undefined)
    bodies.add(JSON.stringify(error.toBody()))
  }
  t.same([...bodies], [JSON.stringify(new GatewayError('invalid_api_key').toBody())])
})

t.test('a key may call only the endpoints that it is for', async t => {
  t.equal((await authed(callWith({ 'x-api-key': 'narrow' }, 'models'))).key.id, 'key_3')
  for (const [key, endpoint] of [['narrow', 'chat'], ['nothing', 'models']] as const) {
    const call = callWith({ 'x-api-key': key }, endpoint)
    await t.rejects(authed(call), { code: 'insufficient_permissions', status: 403 })
    t.ok(call.record.caller.keyId, 'the log says whose key it was')
  }
})
