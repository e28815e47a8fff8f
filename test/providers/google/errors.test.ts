import t from 'tap'
import { googleChat } from '../../../lib/providers/google/index.ts'
import { errorOf, readerOf, streamOf } from '../../support/adapters.ts'
import { googleAsk } from '../../support/google.ts'

t.test('an error inside a stream is thrown with its meaning, in a list or not', async t => {
  const busy = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }
  const slow = {
    error: {
      code: 429,
      message: 'Quota',
      status: 'RESOURCE_EXHAUSTED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '17.2s' }]
    }
  }
  const cases: Array<[unknown, { code: string, status: number, retryAfterSeconds?: number }]> = [
    [busy, { code: 'upstream_overloaded', status: 503 }],
    [[busy], { code: 'upstream_overloaded', status: 503 }],
    [slow, { code: 'rate_limit_exceeded', status: 429, retryAfterSeconds: 18 }],
    [{ error: { status: 'DEADLINE_EXCEEDED' } }, { code: 'upstream_timeout', status: 504 }],
    [{ error: { status: 'constructor' } }, { code: 'upstream_error', status: 502 }],
    [{ error: 'odd' }, { code: 'upstream_error', status: 502 }]
  ]
  for (const [payload, expected] of cases) {
    const read = readerOf(streamOf(googleChat, googleAsk()))
    const first = { candidates: [{ content: { parts: [{ text: 'Hi' }] } }] }
    t.same(read({ id: undefined, event: undefined, data: JSON.stringify(first) }).length, 2)
    t.throws(() => read({ id: undefined, event: undefined, data: JSON.stringify(payload) }), expected)
  }
})

t.test('an error status is mapped, and its message reaches only the caller who caused it', async t => {
  const row = (status: number, body: unknown, expected: object, callerKey = false, headers = {}): void => {
    const error = errorOf(
      googleChat,
      { status, headers, body },
      googleAsk(),
      callerKey ? 'own-key' : undefined
    )
    const { code, message, fault: failure, param, retryAfterSeconds: after, type } = error
    t.match(
      { status: error.status, code, message, failure, param, after, type },
      expected,
      JSON.stringify(body)
    )
  }
  const said = (code: number, status: string, message: string, details: unknown[] = []): unknown =>
    ({ error: { code, status, message, details } })
  const badKey = said(400, 'INVALID_ARGUMENT', 'It is not valid.', [{ reason: 'API_KEY_INVALID' }])
  const gatewayKey = {
    status: 502,
    code: 'upstream_auth_failed',
    failure: 'credential',
    message: /^(?!.*not valid)/
  }

  row(400, said(400, 'INVALID_ARGUMENT', 'Temperature is 9.'), {
    status: 400,
    code: 'upstream_invalid_request',
    message: 'Temperature is 9.',
    failure: 'final',
    type: 'invalid_request_error'
  })
  row(400, [said(400, 'OUT_OF_RANGE', 'In a list.')], { status: 400, message: 'In a list.' })
  row(400, badKey, gatewayKey)
  row(400, badKey, { status: 401, code: 'invalid_provider_key', type: 'authentication_error' }, true)
  row(401, said(401, 'UNAUTHENTICATED', 'x'), gatewayKey)
  row(403, said(403, 'PERMISSION_DENIED', 'x'), gatewayKey)
  row(403, said(403, 'PERMISSION_DENIED', 'API not used in project 123456789 before.'), {
    status: 403, code: 'invalid_provider_key', message: /^(?!.*123456789).*project \[redacted\]/
  }, true)
  row(400, said(400, 'FAILED_PRECONDITION', 'Please enable billing on your project.'), gatewayKey)
  row(400, said(400, 'FAILED_PRECONDITION', 'The cached content has expired.'), {
    status: 400,
    failure: 'final'
  })
  row(
    400,
    said(
      400,
      'INVALID_ARGUMENT',
      'The input token count (99) exceeds the maximum number of tokens allowed (9).'
    ),
    {
      status: 400,
      code: 'context_length_exceeded',
      failure: 'context_length',
      param: 'messages'
    }
  )
  row(404, said(404, 'NOT_FOUND', 'models/x is not found'), {
    status: 404,
    code: 'model_not_found',
    param: 'model'
  })
  row(400, { error: { message: { toString: 1 } } }, { status: 400, failure: 'final' })
  row(404, '<html>AIzaSyA1234567890</html>', { status: 404, message: /^(?!.*html)/ })
  row(400, said(400, 'INVALID_ARGUMENT', 'Bad AIzaSyA12345678901 for project_number:4711 a@b.example'), {
    message: 'Bad [redacted] for project_number:[redacted] [redacted]'
  })
  const quota = (retryDelay: string): unknown =>
    said(429, 'RESOURCE_EXHAUSTED', 'secret quota', [{ retryDelay }])
  row(429, quota('34.4s'), {
    status: 429,
    code: 'rate_limit_exceeded',
    after: 35,
    failure: 'rate_limit',
    message: /^(?!.*secret)/
  })
  row(429, quota('3600s'), { after: 60 })
  row(429, quota('0s'), { after: 1 })
  row(429, quota('soon'), { after: undefined })
  row(429, quota('34s'), { after: 7 }, false, { 'retry-after': '7' })
  row(503, said(503, 'UNAVAILABLE', 'x'), { status: 503, code: 'upstream_overloaded', failure: 'transient' })
  row(504, '', { status: 504, code: 'upstream_timeout' })
  for (const status of [409, 499, 500, 501, 301]) {
    row(status, said(status, 'INTERNAL', 'boom'), {
      status: 502,
      code: 'upstream_error',
      message: /^(?!.*boom)/
    })
  }
})
