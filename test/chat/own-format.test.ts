import t from 'tap'
import { withOwnFormat } from '../../lib/chat/own-format.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const request: ChatInput = { model: 'm', messages: [] }
const schema = { type: 'object', properties: { my_city: { type: 'string' } } }

t.test(
  'a provider with its own field for the response format gets it there, others get it unchanged',
  async t => {
    const own = { answerFormat: 'generation_config' } as const
    const typed: ChatInput = {
      ...request,
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema } }
    }
    t.strictSame(withOwnFormat(typed, own), {
      ...request,
      generation_config: { responseMimeType: 'application/json', responseJsonSchema: schema }
    })
    t.strictSame(withOwnFormat({ ...request, response_format: { type: 'json_object' } }, own), {
      ...request,
      generation_config: { responseMimeType: 'application/json' }
    })
    t.strictSame(withOwnFormat({ ...request, response_format: { type: 'text' } }, own), request)
    t.equal(withOwnFormat(typed, {}), typed)
    t.equal(withOwnFormat(request, own), request)
  }
)
