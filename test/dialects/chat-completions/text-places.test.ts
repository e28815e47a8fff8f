import t from 'tap'
import { chatRequestTexts } from '../../../lib/dialects/chat-completions/text-places.ts'
import { ChatRequest } from '../../../schemas/chat.ts'
import { countSeen, forgottenTexts, sentencesOf } from '../../support/schema-texts.ts'

t.test('every string of a request is inspected, or exempt for a stated reason', t => {
  t.same(forgottenTexts(ChatRequest, chatRequestTexts), [])
  t.ok(countSeen(ChatRequest, chatRequestTexts) > 20)
  t.end()
})

t.test('property names cannot hide a text in a schema for Gemini', t => {
  for (const name of ['response_schema', 'responseSchema', 'response_json_schema', 'responseJsonSchema']) {
    const schema = { properties: { type: { description: 'a type' } }, default: { role: 'a role' } }
    const request = { generation_config: { [name]: schema, temperature: 1 } }
    t.same(sentencesOf(request, chatRequestTexts), ['a type', 'a role'], name)
  }
  t.end()
})

t.test('a cache mark is not inspected', t => {
  const content = [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral', ttl: '1h' } }]
  t.same(sentencesOf({ messages: [{ role: 'user', content }] }, chatRequestTexts), ['Hello'])
  t.end()
})
