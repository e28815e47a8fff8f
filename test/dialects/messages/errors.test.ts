import t from 'tap'
import { GatewayError, ValidationError } from '../../../lib/core/errors.ts'
import { errorBody, messagesErrors } from '../../../lib/dialects/messages/errors.ts'
import { routedCall } from '../../support/stages.ts'

const call = routedCall({})

t.test('each status has the error type that clients know', async t => {
  for (const [failure, status, type] of [
    [new GatewayError('invalid_api_key'), 401, 'authentication_error'],
    [new GatewayError('insufficient_quota'), 402, 'billing_error'],
    [new GatewayError('insufficient_permissions'), 403, 'permission_error'],
    [new GatewayError('not_found'), 404, 'not_found_error'],
    [new GatewayError('upstream_invalid_request', { status: 409 }), 409, 'conflict_error'],
    [new GatewayError('file_too_large'), 413, 'request_too_large'],
    [new GatewayError('rate_limit_exceeded'), 429, 'rate_limit_error'],
    [new GatewayError('upstream_error'), 502, 'api_error'],
    [new GatewayError('overloaded'), 503, 'overloaded_error'],
    [new GatewayError('upstream_invalid_request', { status: 418 }), 418, 'invalid_request_error'],
    [
      new ValidationError([
        { loc: ['body', 'messages', 0, 'role'], msg: 'Field required', type: 'missing' }
      ]),
      400,
      'invalid_request_error'
    ]
  ] as const) {
    const reply = messagesErrors(failure, call)
    t.equal(reply.status, status, failure.code)
    t.match(
      JSON.parse(reply.body),
      { type: 'error', error: { type, details: { error_code: failure.shownCode } }, request_id: 'call-1' },
      failure.code
    )
    t.equal(reply.headers['request-id'], 'call-1')
  }
})

t.test('validation errors are listed with their places', async t => {
  const failure = new ValidationError([
    { loc: ['body', 'messages', 0, 'role'], msg: 'Field required', type: 'missing' },
    { loc: ['body', 'max_tokens'], msg: 'Too small', type: 'x' }
  ])
  t.equal(errorBody(failure, call).error.message, 'messages.0.role: Field required; max_tokens: Too small')
})

t.test('the invalid field comes first', async t => {
  const message = (param: string, message: string): string =>
    errorBody(new GatewayError('unsupported_parameter', { param, message }), call).error.message
  t.equal(message('output_config.format', 'Not here.'), 'output_config.format: Not here.')
  t.equal(message('messages[3].content[1].source', 'No image.'), 'messages.3.content.1.source: No image.')
  t.equal(message('tools', 'tools.3: Input tag'), 'tools.3: Input tag')
})

t.test('errors use the wording that clients check for', async t => {
  const known = routedCall({})
  known.record.request.requestedModel = 'one/none'
  t.equal(errorBody(new GatewayError('model_not_found'), known).error.message, 'model: one/none')
  const tooLong = (message: string): string =>
    errorBody(new GatewayError('context_length_exceeded', { message }), call).error.message
  t.equal(
    tooLong(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    ),
    'prompt is too long: 9000 tokens > 8192 maximum'
  )
  t.equal(
    tooLong("This model's maximum prompt length is 131072 but the request contains 136973 tokens."),
    'prompt is too long: 136973 tokens > 131072 maximum'
  )
  t.equal(tooLong('prompt is too long: 9 tokens > 8 maximum'), 'prompt is too long: 9 tokens > 8 maximum')
  t.equal(tooLong('Too long.'), 'prompt is too long: Too long.')
})

t.test('an error says when to retry, and whether to', async t => {
  const headers = (failure: GatewayError): Readonly<Record<string, string>> =>
    messagesErrors(failure, call).headers
  t.match(headers(new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 7 })), { 'retry-after': '7' })
  for (const code of ['invalid_api_key', 'insufficient_quota'] as const) {
    t.equal(headers(new GatewayError(code))['x-should-retry'], 'false', code)
  }
})
