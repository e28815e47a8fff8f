import t from 'tap'
import { anthropicChat } from '../../../lib/providers/anthropic/index.ts'
import { callerParam } from '../../../lib/providers/caller-param.ts'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { googleChat } from '../../../lib/providers/google/index.ts'
import { GatewayError } from '../../../lib/core/errors.ts'
import { errorOf, streamOf } from '../../support/adapters.ts'
import { readEvents } from '../../support/read-events.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { Quirks } from '../../../lib/core/provider-traits.ts'
import { ask } from '../../support/chat-completions.ts'

/** The code that a caller receives. */
function shownCode (error: GatewayError): unknown {
  return Reflect.get(Object(Reflect.get(Object(error.toBody()), 'error')), 'code')
}

t.test('an error inside a stream is thrown with its meaning', async t => {
  const cases: Array<[string, string, number]> = [
    [
      'data: {"error":{"message":"The server had an error","type":"server_error","code":null}}\n\n',
      'upstream_error',
      502
    ],
    ['data: {"error":{"message":"slow","code":429}}\n\n', 'rate_limit_exceeded', 429],
    [
      'event: error\ndata: {"error":{"message":"Error rendering prompt with jinja template"}}\n\n',
      'upstream_error',
      502
    ],
    ['event: error\ndata: it broke\n\n', 'upstream_error', 502],
    ['error: {"code":500,"message":"context"}\n\n', 'upstream_error', 502],
    [
      'data: {"object":"error","message":"too long: maximum context length is 8","code":400}\n\n',
      'context_length_exceeded',
      400
    ],
    ['data: [{"error":{"code":503,"message":"busy"}}]\n\n', 'upstream_overloaded', 503],
    [
      'data: {"id":"g","error":{"code":502,"message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}\n\n',
      'upstream_error',
      502
    ],
    [
      'data: {"id":"g","choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}\n\n',
      'upstream_stream_interrupted',
      502
    ],
    [
      'data: {"id":"g","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"insufficient_system_resource"}]}\n\n',
      'upstream_stream_interrupted',
      502
    ],
    [
      'data: {"id":"g","choices":[{"index":0,"delta":{},"finish_reason":null}],"x_groq":{"error":"over capacity"}}\n\n',
      'upstream_stream_interrupted',
      502
    ],
    [
      'data: {"error":{"message":"no call came out","type":"invalid_request_error","code":"tool_use_failed"}}\n\n',
      'upstream_invalid_request',
      400
    ],
    ['data: <html>\n\n', 'upstream_invalid_response', 502]
  ]
  for (const [text, code, status] of cases) {
    t.throws(() => readEvents([Buffer.from(text)], streamOf(chatCompletions, ask())), { code, status }, text)
  }
})

t.test('an error status is mapped, and its message reaches only the caller who caused it', async t => {
  const row = (
    status: number,
    text: unknown,
    expected: Record<string, unknown>,
    headers = {},
    callerKey = false
  ): void => {
    const error = errorOf(
      chatCompletions,
      { status, headers, body: text },
      ask(),
      callerKey ? 'own-key' : undefined
    )
    t.match(
      {
        status: error.status,
        code: error.code,
        message: error.message,
        failure: error.fault,
        param: error.param,
        after: error.retryAfterSeconds,
        type: error.type,
        shown: shownCode(error)
      },
      expected,
      JSON.stringify(text)
    )
  }
  const said = (
    message: string,
    code: string | null = null,
    type: string | null = null,
    param: string | null = null
  ): unknown => ({ error: { message, type, code, param } })
  row(400, said('Unknown value', 'unsupported_value', 'invalid_request_error', 'temperature'), {
    status: 400,
    message: 'Unknown value',
    param: 'temperature',
    failure: 'final'
  })
  row(401, said('Incorrect API key provided: sk-abc***wxyz'), {
    status: 502,
    code: 'upstream_auth_failed',
    message: /^(?!.*sk-)/,
    failure: 'credential'
  })
  row(401, said('Incorrect API key provided'), { status: 401, code: 'invalid_provider_key' }, {}, true)
  row(
    400,
    { code: 'x', error: 'Incorrect API key provided: xa***99' },
    { status: 502, code: 'upstream_auth_failed' }
  )
  row(
    403,
    {
      code: 'permission-denied',
      error:
        'Content violates usage guidelines. Team: 01234567-89ab-cdef-0123-456789abcdef, API key ID: 01234567-89ab-cdef-0123-456789abcdef'
    },
    { status: 403, failure: 'final', message: /^(?!.*01234567)/ }
  )
  row(402, said('no balance'), { status: 503, code: 'upstream_quota_exhausted', failure: 'credential' })
  row(429, said('You exceeded your current quota', 'insufficient_quota', 'insufficient_quota'), {
    status: 503,
    code: 'upstream_quota_exhausted'
  })
  row(429, said('Rate limit reached in organization org-abcdefgh. Please try again in 600ms'), {
    status: 429,
    after: 1,
    message: /^(?!.*org-)/,
    failure: 'rate_limit'
  })
  row(429, said('slow'), { after: 60 }, { 'retry-after': '3600' })
  row(429, said('slow'), { after: 2 }, { 'retry-after': '9', 'retry-after-ms': '1500' })
  const noAddress = {
    status: 404,
    code: 'model_not_found',
    failure: 'model',
    message:
      'The provider does not have this model, or its `base_url` in the configuration is wrong (see `headgate doctor`).'
  }
  for (const body of ['', '404 page not found', { detail: 'Not Found' }, { error: 'Not found.' }]) {
    row(404, body, noAddress)
  }
  row(404, { error: { message: 'model "x" not found' } }, { status: 404, message: 'model "x" not found' })
  row(404, said('The model `x` does not exist', 'model_not_found'), {
    status: 404,
    code: 'model_not_found',
    param: 'model'
  })
  const unknownModel = { status: 404, code: 'model_not_found', param: 'model', failure: 'model' }
  row(403, said('Your organization must be verified to use the model `x`', 'model_not_found'), unknownModel)
  row(
    400,
    { object: 'error', message: 'Invalid model: x', type: 'invalid_model', param: null, code: '1500' },
    { ...unknownModel, message: 'Invalid model: x' }
  )
  row(
    400,
    said("This model's maximum context length is 8192 tokens", 'context_length_exceeded', null, 'messages'),
    { code: 'context_length_exceeded', failure: 'context_length', param: 'messages' }
  )
  for (const message of [
    "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    'prompt is too long: 205000 tokens > 200000 maximum',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'Input is too long for requested model.'
  ]) {
    row(400, { code: 'Client specified an invalid argument', error: message }, {
      code: 'context_length_exceeded', failure: 'context_length', message
    })
  }
  row(400, said('flagged', 'content_policy_violation'), {
    code: 'content_policy_violation',
    failure: 'final'
  })
  row(410, { error: 'Live search is deprecated' }, { status: 400, code: 'unsupported_parameter' })
  row(422, { detail: 'bad' }, { status: 400, failure: 'final' })
  const lists: ReadonlyArray<readonly [loc: unknown, message: string, param: string | undefined]> = [
    [['body', 'output_dimension'], 'output_dimension: Too large', 'output_dimension'],
    [['body', 'messages', 1, 'user', 'content'], 'messages[1]: Too large', 'messages[1]'],
    [['body', 'input', 'list[str]', 0], 'input: Too large', 'input'],
    [['body', 7], 'Too large', undefined],
    [['query', 'version'], 'Too large', undefined],
    [undefined, 'Too large', undefined]
  ]
  for (const [loc, message, param] of lists) {
    const detail = [
      { type: 'x', loc, msg: 'Too large', input: 'secret' },
      { loc: ['body', 'other'], msg: 'y' }
    ]
    for (const body of [{ detail }, { object: 'error', message: { detail } }]) {
      row(422, body, { status: 400, failure: 'final', message, param })
    }
  }
  for (const detail of [[], [null], [{ loc: ['body', 'n'] }], [{ msg: 5 }]]) {
    row(422, { detail }, { status: 400 })
  }
  row(500, said('boom sk-secret123'), {
    status: 502,
    code: 'upstream_error',
    message: 'The provider failed to answer.',
    failure: 'transient'
  })
  row(503, '', { status: 503, code: 'upstream_overloaded' })
  row(504, '', { status: 504, code: 'upstream_timeout' })
  row(301, '', { status: 502, code: 'upstream_error' })
  row(
    402,
    said('no balance'),
    { status: 402, code: 'insufficient_quota', type: 'invalid_request_error' },
    {},
    true
  )
  row(404, said('no such deployment', 'DeploymentNotFound'), { status: 404, code: 'model_not_found' })
  row(400, said('filtered', 'content_filter', null, 'prompt'), {
    status: 400,
    code: 'content_policy_violation',
    shown: 'content_filter',
    param: 'prompt'
  })
  row(400, said('no call came out', 'tool_use_failed'), {
    status: 400,
    code: 'upstream_invalid_request',
    shown: 'tool_use_failed'
  })
  row(
    400,
    { object: 'error', message: 'bad', type: 'BadRequestError', param: null, code: 400 },
    { status: 400, message: 'bad', shown: 'upstream_invalid_request' }
  )
  row(
    400,
    {
      error: { code: 400, message: 'exceeds the available context size', type: 'exceed_context_size_error' }
    },
    { code: 'context_length_exceeded', failure: 'context_length' }
  )
  row(498, said('at capacity'), { status: 503, code: 'upstream_overloaded', failure: 'transient' })
  row(
    503,
    { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
    { status: 503, code: 'upstream_overloaded' }
  )
})

t.test(
  "limits of the caller's own key are reported in the provider's words, limits of the gateway are not",
  async t => {
    for (const adapter of [chatCompletions, googleChat, anthropicChat]) {
      const failure = { status: 429, headers: {}, body: { error: { message: '5 requests a minute' } } }
      t.equal(errorOf(adapter, failure, ask(), 'own-key').message, '5 requests a minute')
      t.notMatch(errorOf(adapter, failure, ask()).message, /minute/)
    }
  }
)

t.test('a refused field has the name that the caller used', async t => {
  const param = (request: Partial<ChatInput>, named: string, quirks: Quirks = {}): unknown =>
    callerParam(String(errorOf(
      chatCompletions,
      { status: 400, headers: {}, body: { error: { message: 'too large', param: named } } },
      ask(request, quirks)
    ).param), ask(request, quirks))
  t.equal(param({ max_tokens: 5 }, 'max_completion_tokens'), 'max_tokens')
  t.equal(param({ max_completion_tokens: 5 }, 'max_tokens'), 'max_completion_tokens')
  t.equal(param({ seed: 5 }, 'random_seed', { rename: { seed: 'random_seed' } }), 'seed')
  t.equal(param({ max_tokens: 5 }, 'temperature'), 'temperature')
})
