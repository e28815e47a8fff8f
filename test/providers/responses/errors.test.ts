import t from 'tap'
import { callerParam } from '../../../lib/providers/caller-param.ts'
import { openaiAdapters } from '../../../lib/providers/openai/index.ts'
import { errorOf, readResponse, streamOf } from '../../support/adapters.ts'
import { readEvents } from '../../support/read-events.ts'
import { responsesAsk } from '../../support/responses-api.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { AdapterInput } from '../../../lib/providers/provider.ts'
import type { Failure } from '../../../lib/providers/provider-failure.ts'

/** A request in the words of a caller who speaks this API. */
const own = {
  ...responsesAsk(),
  direct: { dialect: 'responses' as const, body: '{}', headers: {}, query: '' }
}

const refused = (param: string): { status: number, headers: object, body: unknown } => ({
  status: 400,
  headers: {},
  body: { error: { message: 'No.', type: 'invalid_request_error', param, code: 'invalid_value' } }
})

t.test('a refused field has the name that the caller used', async t => {
  const names = {
    'input[2].content': 'messages',
    max_output_tokens: 'max_completion_tokens',
    'reasoning.effort': 'reasoning_effort',
    'text.format.schema': 'response_format',
    temperature: 'temperature',
    'constructor.name': 'constructor.name'
  }
  for (const [theirs, ours] of Object.entries(names)) {
    t.equal(errorOf(openaiAdapters.chat, { ...refused(theirs), headers: {} }, responsesAsk()).param, ours)
    t.equal(errorOf(openaiAdapters.chat, { ...refused(theirs), headers: {} }, own).param, theirs)
    const event = { type: 'error', code: 'invalid_prompt', message: 'No.', param: theirs }
    const bytes = Buffer.from(`data: ${JSON.stringify(event)}\n\n`)
    const read = (ask: AdapterInput<ChatInput>) => () =>
      readEvents([bytes], streamOf(openaiAdapters.chat, ask))
    const code = 'upstream_invalid_request'
    t.throws(read(responsesAsk()), { code, param: ours }, `${theirs} in a stream`)
    t.throws(read(own), { code, param: theirs }, `${theirs} in the stream of a caller of this API`)
  }
})

t.test('for callers of this API a conversation that is too long is an error in `input`', async t => {
  const originalInput = { field: 'input', places: new Map() } as const
  const failure = {
    status: 400,
    headers: {},
    body: { error: { message: 'Too long.', code: 'context_length_exceeded' } }
  }
  t.match(errorOf(openaiAdapters.chat, failure, responsesAsk()), {
    code: 'context_length_exceeded',
    param: 'messages'
  })
  t.equal(callerParam('messages', { ...own, request: { ...own.request, originalInput } }), 'input')
})

/** Describes a refusal of the provider, for a caller who speaks this API. */
function refusal (status: number, body: unknown, ask: AdapterInput<ChatInput> = own): Failure {
  return openaiAdapters.chat.error({ status, headers: {}, body }, ask)
}

t.test(
  'a server without this API is recognised by its status or by its message about the path',
  async t => {
    const rows: ReadonlyArray<readonly [server: string, body: unknown]> = [
      ['an empty body, or a page', ''],
      ['an empty object', {}],
      [
        'OpenAI',
        {
          error: {
            message: 'Invalid URL (POST /v1/responses)',
            type: 'invalid_request_error',
            param: null,
            code: null
          }
        }
      ],
      [
        'new-api',
        {
          error: {
            message: 'Invalid URL (POST /v1/responses) (request id: 2025)',
            type: 'invalid_request_error',
            param: '',
            code: ''
          }
        }
      ],
      ['Azure', { error: { code: '404', message: 'Resource not found' } }],
      [
        'Groq',
        {
          error: {
            message: 'Unknown request URL: POST /openai/v1/responses. Please check the URL for typos.',
            type: 'invalid_request_error',
            code: 'unknown_url'
          }
        }
      ],
      ['Mistral', { message: 'no Route matched with those values' }],
      ['FastAPI', { detail: 'Not Found' }],
      ['vLLM', { error: { message: 'Not Found', type: 'Not Found', param: null, code: 404 } }],
      ['Go', '404 page not found'],
      ['llama.cpp', { error: { code: 404, message: 'File Not Found', type: 'not_found_error' } }],
      ['LM Studio', { error: 'Unexpected endpoint or method. (POST /v1/responses)' }],
      ['Express', 'Cannot POST /v1/responses'],
      ['Fastify', { message: 'Route POST:/v1/responses not found', error: 'Not Found', statusCode: 404 }],
      ['Spring', { timestamp: '2025-01-01', status: 404, error: 'Not Found', path: '/v1/responses' }],
      ['Flask', { message: 'The requested URL was not found on the server.' }],
      ['Kubernetes', 'default backend - 404'],
      ['aiohttp', '404: Not Found'],
      [
        'another',
        {
          error: {
            message: 'The requested path /v1/responses was not found.',
            type: 'not_found_error',
            code: 'not_found'
          }
        }
      ]
    ]
    for (const [server, body] of rows) t.equal(refusal(404, body).kind, 'missing_api', server)
    for (const status of [405, 501]) {
      t.equal(refusal(status, { error: { message: 'No.' } }).kind, 'missing_api')
    }
  }
)

t.test(
  "a missing object is an error of the request, with the provider's message",
  async t => {
    const rows: ReadonlyArray<readonly [message: string, param: string | null, code: string | null]> = [
      ["Conversation with id 'conv_x' not found.", null, null],
      [
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
        'input',
        null
      ],
      [
        "Previous response with id 'resp_1' not found.",
        'previous_response_id',
        'previous_response_not_found'
      ],
      ["Prompt with id 'pmpt_1' not found.", 'prompt.id', 'prompt_not_found'],
      ["Vector store 'vs_1' not found.", 'tools[0].vector_store_ids', 'invalid_value'],
      ['No such File object: file-1', 'file_id', null],
      ["Container with id 'cntr_1' not found.", null, null],
      ["Conversation with id 'Invalid URL (POST /v1/responses)' not found.", null, null],
      ['Not found.', 'conversation', null],
      ['Not found.', null, 'conversation_not_found']
    ]
    for (const [message, param, code] of rows) {
      const failure = {
        status: 404,
        headers: {},
        body: { error: { message, type: 'invalid_request_error', param, code } }
      }
      const error = errorOf(openaiAdapters.chat, failure, own)
      t.match(error, { status: 404, code: 'upstream_invalid_request', cause: { status: 404 } }, message)
      t.match(error.toBody(), { error: { message, param, code: code ?? 'upstream_invalid_request' } })
      const compact = { ...own, direct: { ...own.direct, action: 'compact' as const } }
      t.strictSame(refusal(404, failure.body, compact), refusal(404, failure.body))
    }
  }
)

t.test('a model that is not found may be served by another provider', async t => {
  const rows: readonly object[] = [
    {
      message: 'The model `gpt-9` does not exist or you do not have access to it.',
      code: 'model_not_found',
      param: null
    },
    { message: 'Not found.', param: 'model' },
    { message: 'The API deployment for this resource does not exist.', code: 'DeploymentNotFound' },
    { message: 'The model `x` does not exist.', type: 'NotFoundError', param: null, code: 404 }
  ]
  for (const error of rows) t.equal(refusal(404, { error }).kind, 'model')
})

t.test(
  "an error inside a response is the provider's, unless it is known to be about the request",
  async t => {
    const rows: Array<[object, string]> = [
      [{ code: null, message: 'Something went wrong.' }, 'upstream_error'],
      [{ code: 'internal_error' }, 'upstream_error'],
      [{ code: 'a_code_to_come', param: null }, 'upstream_error'],
      [{ code: 'constructor' }, 'upstream_error'],
      [{ code: 500 }, 'upstream_error'],
      [{ code: 503 }, 'upstream_overloaded'],
      [{ code: '429' }, 'rate_limit_exceeded'],
      [{ code: 'too_many_requests' }, 'rate_limit_exceeded'],
      [{ code: 'slow_down' }, 'upstream_overloaded'],
      [{ code: 404, message: 'Not found.' }, 'model_not_found'],
      [{ code: 400 }, 'upstream_invalid_request'],
      [{ code: 'invalid_request_error' }, 'upstream_invalid_request'],
      [{ code: 'invalid_prompt' }, 'upstream_invalid_request'],
      [{ code: 'unsupported_value', param: 'text' }, 'upstream_invalid_request'],
      [{ code: 'cyber_policy' }, 'upstream_invalid_request'],
      [{ code: 'image_too_large' }, 'upstream_invalid_request'],
      [{ code: 'moderation_blocked' }, 'content_policy_violation'],
      [{ code: 'context_length_exceeded' }, 'context_length_exceeded']
    ]
    const nested: typeof rows = [
      [{ type: 'too_many_requests', code: 'too_many_requests' }, 'rate_limit_exceeded'],
      [{ type: 'too_many_requests', code: null }, 'rate_limit_exceeded'],
      [{ type: 'server_error', code: null }, 'upstream_error'],
      [{ type: 'invalid_request_error', code: null }, 'upstream_invalid_request'],
      [{ type: 'invalid_request_error', code: 'model_is_shy' }, 'upstream_invalid_request']
    ]
    for (const ask of [responsesAsk(), own]) {
      const refuses = (event: object, code: string): unknown =>
        t.throws(
          () =>
            readEvents(
              [Buffer.from(`data: ${JSON.stringify(event)}\n\n`)],
              streamOf(openaiAdapters.chat, ask)
            ),
          { code },
          JSON.stringify(event)
        )
      for (const [error, code] of rows) refuses({ type: 'error', ...error }, code)
      for (const [error, code] of [...rows, ...nested]) {
        refuses({ type: 'error', error }, code)
        refuses({ error }, code)
        refuses({ type: 'response.failed', response: { status: 'failed', error } }, code)
      }
    }
    for (const [error, code] of [...rows, ...nested]) {
      t.throws(
        () => readResponse(openaiAdapters.chat, { status: 'failed', output: [], error }, responsesAsk()),
        { code }
      )
    }
  }
)

t.test('the error of a failed response has its usage', async t => {
  const usage = { input_tokens: 7, output_tokens: 2, total_tokens: 9 }
  const response = { status: 'failed', output: [], error: { code: 'server_error' }, usage }
  const expected = { code: 'upstream_error', usage: { promptTokens: 7, completionTokens: 2, totalTokens: 9 } }
  for (const ask of [responsesAsk(), own]) {
    for (const type of ['response.failed', 'response.cancelled']) {
      const bytes = Buffer.from(`data: ${JSON.stringify({ type, response })}\n\n`)
      t.throws(() => readEvents([bytes], streamOf(openaiAdapters.chat, ask)), expected)
    }
  }
  t.throws(() => readResponse(openaiAdapters.chat, response, responsesAsk()), expected)
})

t.test('the type of an error event is not an error code', async t => {
  const event = { type: 'error', code: null, message: 'Something went wrong.' }
  t.throws(
    () =>
      readEvents(
        [Buffer.from(`data: ${JSON.stringify(event)}\n\n`)],
        streamOf(openaiAdapters.chat, responsesAsk())
      ),
    { cause: { code: 'server_error', message: event.message } }
  )
})
