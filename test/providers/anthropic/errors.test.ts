import t from 'tap'
import { anthropicChat } from '../../../lib/providers/anthropic/index.ts'
import { errorOf, readResponse, readerOf, streamOf } from '../../support/adapters.ts'
import { readEvents } from '../../support/read-events.ts'
import { ask, eventsOf, start, textStart, half } from '../../support/anthropic-answers.ts'

t.test('an error without a type, as proxies send it, is an error at every place', async t => {
  const own = { ...ask(), direct: { dialect: 'messages' as const, body: '{}', headers: {}, query: '' } }
  const rows = [
    [{ error: { message: 'x', type: 'server_error', code: 503 } }, 'upstream_overloaded'],
    [{ error: { message: 'x', code: 'rate_limit_exceeded' } }, 'rate_limit_exceeded'],
    [{ error: 'it broke' }, 'upstream_error']
  ] as const
  for (const [error, code] of rows) {
    for (const input of [ask(), own]) {
      const read = (...events: object[]): unknown => readEvents(
        events.map(event => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)), streamOf(anthropicChat, input)
      )
      t.throws(() => readResponse(anthropicChat, error, input), { code })
      t.throws(() => read(error), { code })
      t.throws(() => read(start, textStart, half, error), { code })
    }
  }
})

t.test('an error after a successful status is an error, at the beginning or midway', async t => {
  const error = (type: string): object => ({
    type: 'error',
    error: { type, message: 'x' },
    request_id: 'req_1'
  })
  t.throws(() => eventsOf(error('overloaded_error')), {
    code: 'upstream_overloaded',
    status: 503,
    type: 'server_error'
  })
  t.throws(() => eventsOf(start, textStart, half, error('api_error')), { code: 'upstream_error' })
  t.throws(() => eventsOf(start, error('rate_limit_error')), {
    code: 'rate_limit_exceeded',
    fault: 'rate_limit'
  })
  t.throws(() => eventsOf(start, error('invalid_request_error')), {
    code: 'upstream_invalid_request',
    message: 'x'
  })
  t.throws(
    () => readEvents([Buffer.from('event: error\ndata: it broke\n\n')], streamOf(anthropicChat, ask())),
    { code: 'upstream_error' }
  )
  t.throws(
    () =>
      readEvents(
        [Buffer.from(`data: ${JSON.stringify(error('timeout_error'))}\n\n`)],
        streamOf(anthropicChat, ask())
      ),
    { code: 'upstream_timeout' }
  )
  const next = readerOf(streamOf(anthropicChat, ask()))
  const before = [start, textStart, half].flatMap(message =>
    next({ event: message.type, data: JSON.stringify(message), id: undefined })
  )
  t.match(before.at(-1), { type: 'text-delta', text: 'half' }, 'what came before the error is there')
})

t.test('an error status is mapped, and its message reaches only the caller who caused it', async t => {
  const row = (
    status: number, text: unknown, expected: Record<string, unknown>, headers = {}, callerKey = false
  ): void => {
    const error = errorOf(
      anthropicChat,
      { status, headers, body: text },
      ask(),
      callerKey ? 'own-key' : undefined
    )
    const { code, status: ours, message, fault: failure, param, type, retryAfterSeconds: after } = error
    t.match(
      { code, status: ours, message, failure, param, type, after },
      expected,
      `${status} ${JSON.stringify(text)}`
    )
  }
  const said = (type: string, message: string): unknown => ({
    type: 'error',
    error: { type, message },
    request_id: 'req_01'
  })
  const key = said('authentication_error', 'invalid x-api-key sk-ant-REDACTED')

  row(400, said('invalid_request_error', 'max_tokens: must be positive'), {
    code: 'upstream_invalid_request',
    status: 400,
    message: 'max_tokens: must be positive',
    failure: 'final'
  })
  row(400, said('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'), {
    code: 'context_length_exceeded',
    status: 400,
    failure: 'context_length',
    param: 'messages'
  })
  row(400, said('invalid_request_error', 'input length and `max_tokens` exceed context limit: 1 + 2 > 2'), {
    code: 'context_length_exceeded'
  })
  row(400, said('invalid_request_error', 'Your credit balance is too low to access the API.'), {
    code: 'upstream_quota_exhausted',
    status: 503,
    failure: 'credential',
    message: /gateway/
  })
  row(422, said('invalid_request_error', 'x'), { code: 'upstream_invalid_request', status: 400 })
  row(413, said('request_too_large', 'too large'), { code: 'upstream_invalid_request', status: 413 })
  row(409, said('conflict_error', 'conflict'), { code: 'upstream_invalid_request', status: 409 })
  row(404, said('not_found_error', 'model: claude-9'), {
    code: 'model_not_found',
    status: 404,
    param: 'model',
    message: 'model: claude-9'
  })
  row(401, key, {
    code: 'upstream_auth_failed',
    status: 502,
    failure: 'credential',
    type: 'server_error',
    message: /gateway/
  })
  row(403, said('permission_error', 'no'), { code: 'upstream_auth_failed', status: 502 })
  row(402, said('billing_error', 'pay'), { code: 'upstream_quota_exhausted', status: 503 })
  row(
    401,
    key,
    { code: 'invalid_provider_key', status: 401, type: 'authentication_error', message: /redacted/ },
    {},
    true
  )
  row(
    402,
    said('billing_error', 'pay'),
    { code: 'insufficient_quota', status: 402, message: 'pay' },
    {},
    true
  )
  row(403, said('permission_error', 'no'), { code: 'invalid_provider_key', status: 403 }, {}, true)
  row(
    429,
    said('rate_limit_error', 'organization acme'),
    {
      code: 'rate_limit_exceeded',
      status: 429,
      type: 'rate_limit_error',
      failure: 'rate_limit',
      after: 7,
      message: /^(?!.*acme)/
    },
    { 'retry-after': '7' }
  )
  row(429, said('rate_limit_error', 'slow'), { after: 60 }, { 'retry-after': '3600' })
  row(
    529,
    said('overloaded_error', 'Overloaded'),
    { code: 'upstream_overloaded', status: 503, failure: 'transient', after: 3 },
    { 'retry-after': '3' }
  )
  row(504, said('timeout_error', 'slow'), { code: 'upstream_timeout', status: 504, failure: 'transient' })
  row(500, said('api_error', 'host db-1 req_01'), {
    code: 'upstream_error',
    status: 502,
    failure: 'transient',
    message: 'The provider failed to answer.'
  })
  row(502, '<html>nginx</html>', { code: 'upstream_error', status: 502 })
  row(400, '<html>nginx</html>', {
    code: 'upstream_invalid_request',
    message: 'The provider refused the request.'
  })
  row(400, said('invalid_request_error', 'see req_01AB of 5f0c6c5e-6d5a-4c57-9a52-0b3b0b8f4d21'), {
    message: 'see [redacted] of [redacted]'
  })

  for (const ownKey of [undefined, 'own-key']) {
    const error = errorOf(anthropicChat, { status: 401, headers: {}, body: key }, ask(), ownKey)
    t.notMatch(JSON.stringify([error.toBody(), error.cause]), /sk-ant/)
  }
})
