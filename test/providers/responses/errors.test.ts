import t from 'tap'
import { openaiAdapters } from '../../../lib/providers/openai/index.ts'
import { errorOf } from '../../support/adapters.ts'
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
