import t from 'tap'
import { schemaAsInstruction } from '../../../lib/providers/chat-completions/schema-as-instruction.ts'
import { body } from '../../support/chat-completions.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'

const schema = { type: 'object', properties: { city: { type: 'string' } } }
const format = { type: 'json_schema' as const, json_schema: { name: 'place', schema, strict: true } }
const instruction = `Your answer must be JSON that matches this JSON schema:\n${JSON.stringify(schema)}`
const hi = { role: 'user' as const, content: 'hi' }

function request (messages: ChatInput['messages'], more: object = {}): ChatInput {
  const json = { ...format.json_schema, ...more }
  return { model: 'm', messages, response_format: { ...format, json_schema: json } }
}

t.test('the schema is added to the first system message, or becomes one', async t => {
  const parts = [{ type: 'text' as const, text: 'Be brief.' }]
  const rows: ReadonlyArray<readonly [given: ChatInput['messages'], sent: ChatInput['messages']]> = [
    [[hi], [{ role: 'system', content: instruction }, hi]],
    [
      [{ role: 'developer', content: 'Be brief.' }, hi],
      [{ role: 'developer', content: `Be brief.\n\n${instruction}` }, hi]
    ],
    [
      [hi, { role: 'system', content: parts }, { role: 'system', content: 'Be kind.' }],
      [
        hi,
        { role: 'system', content: [...parts, { type: 'text', text: instruction }] },
        { role: 'system', content: 'Be kind.' }
      ]
    ]
  ]
  for (const [given, sent] of rows) {
    t.strictSame(schemaAsInstruction(request(given)), {
      model: 'm', messages: sent, response_format: { type: 'json_object' }
    })
  }
})

t.test('the description is part of the schema, and a missing schema is any JSON', async t => {
  const described = { description: 'A place.', ...schema }
  t.match(schemaAsInstruction(request([hi], { description: 'A place.' })).messages, [
    { content: `Your answer must be JSON that matches this JSON schema:\n${JSON.stringify(described)}` }
  ])
  t.match(schemaAsInstruction(request([hi], { schema: null })).messages, [
    { content: 'Your answer must be JSON.' }
  ])
})

t.test('a request without a schema does not change', async t => {
  const requests: ChatInput[] = [
    { model: 'm', messages: [hi] },
    { model: 'm', messages: [hi], response_format: { type: 'json_object' } },
    { model: 'm', messages: [hi], response_format: { type: 'text' } }
  ]
  for (const request of requests) t.equal(schemaAsInstruction(request), request)
})

t.test('only servers that do not know schemas get them as an instruction', async t => {
  const given = request([{ role: 'system', content: 'Be brief.' }, hi])
  t.match(body(given), { messages: given.messages, response_format: format })
  t.match(body(given, { jsonSchema: false }), {
    messages: [{ role: 'system', content: `Be brief.\n\n${instruction}` }, hi],
    response_format: { type: 'json_object' }
  })
})
