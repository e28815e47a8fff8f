import t from 'tap'
import {
  asGatewayError,
  codes,
  GatewayError,
  ValidationError,
  type ErrorCode
} from '../../lib/core/errors.ts'

const all = Object.keys(codes) as ErrorCode[] // the keys of a table are its codes

t.test("every code uses its own row, and the fault is the caller's unless stated", async t => {
  for (const code of all) {
    const row: { status: number, type: string, message: string, fault?: string } = codes[code]
    const error = new GatewayError(code)
    t.strictSame([error.status, error.fault], [row.status, row.fault ?? 'final'], code)
    t.strictSame(
      error.toBody(),
      { error: { message: row.message, type: row.type, code, param: null } },
      code
    )
  }
})

t.test('the statuses are those that clients rely on', async t => {
  const byStatus: Record<number, string[]> = {}
  for (const code of all) (byStatus[codes[code].status] ??= []).push(code)
  t.strictSame(byStatus, {
    400: [
      'invalid_json',
      'invalid_value',
      'unsupported_value',
      'unsupported_parameter',
      'context_length_exceeded',
      'content_policy_violation',
      'content_refused',
      'invalid_document',
      'unsupported_format',
      'upstream_invalid_request',
      'unknown_provider'
    ],
    401: ['invalid_api_key', 'invalid_credentials', 'invalid_provider_key'],
    402: ['insufficient_quota'],
    403: ['insufficient_permissions'],
    404: ['not_found', 'model_not_found', 'deferred_completion_not_found'],
    405: ['method_not_allowed'],
    408: ['request_timeout'],
    409: ['conflict'],
    413: ['file_too_large', 'too_many_values'],
    415: ['unsupported_media_type'],
    429: ['rate_limit_exceeded'],
    499: ['client_closed_request', 'client_too_slow'],
    500: ['internal_error', 'body_already_read'],
    502: [
      'upstream_error',
      'upstream_unreachable',
      'upstream_invalid_response',
      'upstream_stream_interrupted',
      'upstream_auth_failed',
      'deferred_result_lost'
    ],
    503: [
      'upstream_quota_exhausted',
      'stage_unavailable',
      'upstream_overloaded',
      'overloaded',
      'shutting_down'
    ],
    504: ['upstream_timeout', 'upstream_too_slow', 'timeout']
  })
})

t.test('a custom message reaches the caller, the cause does not', async t => {
  const error = new GatewayError('upstream_invalid_request', {
    message: 'Too hot.',
    param: 'temperature',
    status: 418,
    type: 'server_error',
    shownCode: 'too_hot',
    cause: 'the words of the provider'
  })
  t.equal(error.status, 418)
  t.equal(error.code, 'upstream_invalid_request')
  t.equal(error.cause, 'the words of the provider')
  t.strictSame(error.toBody(), {
    error: { message: 'Too hot.', type: 'server_error', code: 'too_hot', param: 'temperature' }
  })
})

t.test('a modified copy keeps everything else', async t => {
  const options = {
    message: 'Slow down.',
    param: 'model',
    status: 430,
    fault: 'rate_limit',
    retryAfterSeconds: 7,
    rateLimits: { 'x-ratelimit-limit-requests': '5' },
    cause: 'why',
    acceptedByProvider: true,
    mayBeBilled: true,
    staleConnection: true,
    shownCode: 'slow'
  } as const
  const error = new GatewayError('rate_limit_exceeded', options)
  const same = error.with({})
  for (const name of [
    'code',
    'status',
    'type',
    'param',
    'fault',
    'retryAfterSeconds',
    'rateLimits',
    'cause',
    'acceptedByProvider',
    'mayBeBilled',
    'staleConnection',
    'message'
  ] as const) {
    t.strictSame(same[name], error[name], name)
  }
  t.strictSame(same.toBody(), error.toBody())
  t.strictSame(error.with({ message: 'Wait.', param: 'n' }).toBody(), {
    error: { message: 'Wait.', type: 'rate_limit_error', code: 'slow', param: 'n' }
  })
  t.equal(error.with({ acceptedByProvider: false }).acceptedByProvider, false)
})

t.test('a 429 or 503 says when to retry: as the provider said, or else in a second', async t => {
  t.strictSame(new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 9 }).headers(), {
    'retry-after': '9'
  })
  t.strictSame(new GatewayError('shutting_down').headers(), { 'retry-after': '1' })
  t.strictSame(new GatewayError('insufficient_quota', { retryAfterSeconds: 20 }).headers(), {
    'retry-after': '20',
    'x-should-retry': 'false'
  })
  t.strictSame(new GatewayError('overloaded', { retryAfterSeconds: 2 }).headers(), {
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '2s',
    'retry-after': '2'
  })
  t.strictSame(
    new GatewayError('rate_limit_exceeded', { rateLimits: { 'x-ratelimit-limit-tokens': '10' } }).headers(),
    {
      'x-ratelimit-limit-tokens': '10',
      'retry-after': '1'
    }
  )
})

t.test('a header keeps clients from retrying what cannot succeed', async t => {
  const vain = all.filter(code => new GatewayError(code).headers()['x-should-retry'] === 'false')
  t.same(vain.toSorted(), [
    'body_already_read',
    'deferred_result_lost',
    'insufficient_quota',
    'internal_error',
    'request_timeout',
    'stage_unavailable',
    'timeout',
    'upstream_auth_failed',
    'upstream_quota_exhausted'
  ])
})

t.test('only an unsupported parameter lets another provider be tried', async t => {
  t.same(
    all.filter(code => new GatewayError(code).fault === 'unsupported'),
    ['unsupported_parameter']
  )
})

t.test('an invalid body gets the list of problems, and the first of them as an error', async t => {
  const type = 'invalid_request_error'
  const cases = [
    [
      ['body', 'messages', 0, 'role'],
      'missing',
      {
        message: 'Invalid value for `messages[0].role`: Field required.',
        type,
        code: 'missing_required_parameter',
        param: 'messages[0].role'
      }
    ],
    [
      ['body', 'n'],
      'int_type',
      { message: 'Invalid value for `n`: Field required.', type, code: 'invalid_type', param: 'n' }
    ],
    [['body'], 'value_error', { message: 'Field required.', type, code: 'invalid_value', param: null }]
  ] as const
  for (const [loc, reason, error] of cases) {
    const detail = [
      { loc: [...loc], msg: 'Field required', type: reason },
      { loc: ['body', 'model'], msg: 'Field required', type: 'missing' }
    ]
    const failure = new ValidationError(detail)
    t.strictSame([failure.status, failure.code], [422, 'invalid_value'])
    t.strictSame(failure.toBody(), { detail, error })
  }
  t.strictSame(new ValidationError([]).toBody(), {
    detail: [],
    error: { message: 'The request is invalid.', type, code: 'invalid_value', param: null }
  })
})

t.test('an unknown error becomes an internal one that reveals nothing', async t => {
  const given = new GatewayError('not_found')
  t.equal(asGatewayError(given), given)
  const secret = new Error('password=1234')
  const made = asGatewayError(secret)
  t.equal(made.cause, secret)
  t.strictSame(made.toBody(), {
    error: {
      message: 'Headgate could not handle the request because of an internal error.',
      type: 'server_error',
      code: 'internal_error',
      param: null
    }
  })
})
