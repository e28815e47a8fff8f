import t from 'tap'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import { signRequest } from '../../lib/client/sign-request.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import type { Signer } from '../../lib/providers/credential.ts'

const request = { method: 'GET', url: 'http://a/', headers: {}, body: undefined }
const timeouts = { connectMs: 20, firstByteMs: 1, responseMs: 1, idleBytesMs: 1, idleEventsMs: 1 }
const never = new Promise<never>(() => {})

async function signBy (sign: Signer['sign'], signal = new CallCancellation()): Promise<unknown> {
  return await signRequest({ accountId: 'a', sign }, request, { signal, timeouts })
}

t.test('a signer receives the request and returns its headers, at once or later', async t => {
  t.same(await signBy(({ url }) => ({ 'x-url': url })), { 'x-url': 'http://a/' })
  t.same(await signBy(async ({ method }) => ({ 'x-method': method })), { 'x-method': 'GET' })
})

t.test('a signer that takes too long is aborted', async t => {
  await t.rejects(signBy(() => never), { code: 'upstream_timeout', mayBeBilled: false })
})

t.test('a call that ends does not wait for the signer', async t => {
  const signal = new CallCancellation()
  const signed = signBy(() => never, signal)
  signal.abort(new GatewayError('request_timeout'))
  await t.rejects(signed, { code: 'request_timeout' })
})

t.test('an error of the signer counts as an unreachable provider', async t => {
  const fails = async (): Promise<never> => await Promise.reject(new Error('no token'))
  await t.rejects(signBy(fails), { code: 'upstream_unreachable', cause: { message: 'no token' } })
  await t.rejects(signBy(() => { throw new GatewayError('upstream_overloaded') }), {
    code: 'upstream_overloaded'
  })
})
