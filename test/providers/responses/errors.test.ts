import t from 'tap'
import { openaiAdapters } from '../../../lib/providers/openai/index.ts'
import { errorOf, readResponse, streamOf } from '../../support/adapters.ts'
import { readEvents } from '../../support/read-events.ts'
import { responsesAsk } from '../../support/responses-api.ts'

const refused = (param: string): { status: number, headers: object, body: unknown } =>
  ({ status: 400, headers: {}, body: { error: { message: 'No.', type: 'invalid_request_error', param, code: 'invalid_value' } } })

t.test('a refused field is named as its caller wrote it', async t => {
  const names = { 'input[2].content': 'messages', max_output_tokens: 'max_completion_tokens', 'reasoning.effort': 'reasoning_effort', 'text.format.schema': 'response_format', temperature: 'temperature' }
  const direct = responsesAsk()
  for (const [theirs, ours] of Object.entries(names)) {
    t.equal(errorOf(openaiAdapters.chat, { ...refused(theirs), headers: {} }, responsesAsk()).param, ours)
    const own = { ...direct, direct: { dialect: 'responses' as const, body: '{}', headers: {}, query: '' } }
    t.equal(errorOf(openaiAdapters.chat, { ...refused(theirs), headers: {} }, own).param, theirs)
  }
})

t.test('a conversation that is too long is the fault of `input` for callers of this API', async t => {
  const failure = { status: 400, headers: {}, body: { error: { message: 'Too long.', code: 'context_length_exceeded' } } }
  t.match(errorOf(openaiAdapters.chat, failure, responsesAsk()), { code: 'context_length_exceeded', param: 'messages' })
  const own = { ...responsesAsk(), direct: { dialect: 'responses' as const, body: '{}', headers: {}, query: '' } }
  t.match(errorOf(openaiAdapters.chat, failure, own), { code: 'context_length_exceeded', param: 'input' })
})

t.test('an error inside a response is the fault of its provider unless it is known to be about the request', async t => {
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
  const asks = [responsesAsk(), { ...responsesAsk(), direct: { dialect: 'responses' as const, body: '{}', headers: {}, query: '' } }]
  for (const ask of asks) {
    const refuses = (event: object, code: string): unknown =>
      t.throws(() => readEvents([Buffer.from(`data: ${JSON.stringify(event)}\n\n`)], streamOf(openaiAdapters.chat, ask)), { code }, JSON.stringify(event))
    for (const [error, code] of rows) refuses({ type: 'error', ...error }, code)
    for (const [error, code] of [...rows, ...nested]) {
      refuses({ type: 'error', error }, code)
      refuses({ type: 'response.failed', response: { status: 'failed', error } }, code)
    }
  }
  for (const [error, code] of [...rows, ...nested]) t.throws(() => readResponse(openaiAdapters.chat, { status: 'failed', output: [], error }, responsesAsk()), { code })
})

t.test('the type of an error event is no code', async t => {
  const event = { type: 'error', code: null, message: 'Something went wrong.' }
  t.throws(() => readEvents([Buffer.from(`data: ${JSON.stringify(event)}\n\n`)], streamOf(openaiAdapters.chat, responsesAsk())), { cause: { code: 'server_error', message: event.message } })
})
