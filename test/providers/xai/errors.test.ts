import t from 'tap'
import { GatewayError } from '../../../lib/core/errors.ts'
import { xaiChat } from '../../../lib/providers/xai/index.ts'
import { errorOf, readResponse, streamOf } from '../../support/adapters.ts'
import { readEvents } from '../../support/read-events.ts'
import { xaiAsk } from '../../support/xai.ts'

t.test('an error under status 200 has the meaning of its message, complete or in a stream', async t => {
  const cases: Array<[unknown, string, number]> = [
    [
      { code: 'The service is currently unavailable', error: 'The model is at capacity' },
      'upstream_overloaded',
      503
    ],
    [{ code: 'Client specified an invalid argument', error: 'Bad stop' }, 'upstream_invalid_request', 400],
    [{ code: 'Some resource has been exhausted', error: 'Too many' }, 'rate_limit_exceeded', 429],
    [
      {
        code: 'permission-denied',
        error: 'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO'
      },
      'content_policy_violation',
      400
    ],
    [{ code: 'Unheard of', error: 'What' }, 'upstream_error', 502],
    [{ error: 'Only words' }, 'upstream_error', 502]
  ]
  for (const [body, code, status] of cases) {
    t.throws(() => readResponse(xaiChat, body, xaiAsk()), { code, status }, JSON.stringify(body))
    const stream = Buffer.from(`data: ${JSON.stringify(body)}\n\n`)
    t.throws(() => readEvents([stream], streamOf(xaiChat, xaiAsk())), { code, status }, `streamed ${code}`)
  }
  t.throws(() => readEvents([Buffer.from('data: {"code": "half\n\n')], streamOf(xaiChat, xaiAsk())), {
    code: 'upstream_invalid_response'
  })
})

t.test('an error status blames the content, the field or the key, and identifies no one', async t => {
  const error = (status: number, body: unknown, callerKey = false): GatewayError => {
    return errorOf(xaiChat, { status, headers: {}, body }, xaiAsk(), callerKey ? 'own-key' : undefined)
  }
  const refused = error(403, {
    code: 'permission-denied',
    error:
      'Content violates usage guidelines. Team: team-canary, API key ID: canary-id, Model: grok-4.6, Failed check: SAFETY_CHECK_TYPE_BIO'
  })
  t.match(refused, {
    code: 'content_policy_violation',
    status: 400,
    fault: 'final',
    message: /SAFETY_CHECK_TYPE_BIO/
  })
  t.notMatch(JSON.stringify([refused.toBody(), refused.cause]), /canary/)
  t.match(error(403, { code: 'permission-denied', error: 'The key is blocked' }), {
    code: 'upstream_auth_failed',
    status: 502,
    fault: 'credential'
  })
  t.match(error(403, { code: 'permission-denied', error: 'The key is blocked' }, true), {
    code: 'invalid_provider_key',
    status: 403
  })
  t.match(
    error(400, { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xa***' }),
    { code: 'upstream_auth_failed' }
  )
  t.match(error(410, { error: 'Live search is deprecated.' }), {
    code: 'unsupported_parameter',
    status: 400,
    param: 'search_parameters'
  })
  t.match(error(429, { error: 'slow' }), { code: 'rate_limit_exceeded', fault: 'rate_limit' })
})
