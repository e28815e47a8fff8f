import t from 'tap'
import { googleBody } from '../../support/google.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'

t.test('a conversation alternates roles, has no empty parts, and keeps every system prompt', async t => {
  const { contents, systemInstruction } = googleBody({
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: '' }, { type: 'text', text: 'a' }] },
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }, { type: 'text', text: '' }] },
      { role: 'user', content: 'b' },
      { role: 'assistant', content: '' },
      { role: 'user', content: 'c' },
      {
        role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }], reasoning_content: 'secret',
        thinking_blocks: [{ type: 'thinking', thinking: 'x', signature: 'y' }]
      },
      { role: 'assistant', content: 'More.' }
    ]
  })
  t.same(systemInstruction, { parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] })
  t.same(contents, [
    { role: 'user', parts: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] },
    { role: 'model', parts: [{ text: 'No.' }, { text: 'More.' }] }
  ])
  const system = { role: 'system', content: 'S' } as const
  t.same(
    googleBody({ messages: [system, { role: 'user', content: 'u' }] }, 'gemma-3-27b-it'),
    {
      contents: [{ role: 'user', parts: [{ text: 'S' }, { text: 'u' }] }]
    },
    'no system instruction there'
  )
  t.same(
    googleBody({ messages: [system] }),
    { contents: [{ role: 'user', parts: [{ text: 'S' }] }] },
    'instructions alone'
  )
})

t.test('results follow their calls in one content, in the order of the calls', async t => {
  const call = (id: string, name: string, args = '{}', extra = {}): object => ({
    id,
    type: 'function',
    function: { name, arguments: args },
    ...extra
  })
  const messages = [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        call('c1', 'one', '', { extra_content: { google: { thought_signature: 'c2ln' } } }),
        call('c2', 'two', '{"$ref":"x"}')
      ]
    },
    {
      role: 'tool',
      tool_call_id: 'c2',
      content: [
        { type: 'text', text: '{"$ref":' },
        { type: 'text', text: '1}' }
      ]
    },
    { role: 'tool', tool_call_id: 'c1', content: 'first' },
    { role: 'tool', tool_call_id: 'c1', content: 'again' },
    { role: 'user', content: 'and?' },
    { role: 'assistant', tool_calls: [call('', 'three'), call('', 'three')] },
    { role: 'tool', tool_call_id: '', content: '3' },
    { role: 'tool', tool_call_id: '', content: '4' }
  ]
  const expected = (lost?: string): object[] => [
    { role: 'user', parts: [{ text: 'go' }] },
    { role: 'model', parts: [
      { functionCall: { id: 'c1', name: 'one', args: {} }, thoughtSignature: 'c2ln' },
      { functionCall: { id: 'c2', name: 'two', args: { $ref: 'x' } } }
    ] },
    { role: 'user', parts: [
      { functionResponse: { id: 'c1', name: 'one', response: { output: 'again' } } },
      { functionResponse: { id: 'c2', name: 'two', response: { output: '{"$ref":1}' } } }
    ] },
    { role: 'user', parts: [{ text: 'and?' }] },
    { role: 'model', parts: [
      { functionCall: { name: 'three', args: {} }, ...lost && { thoughtSignature: lost } },
      { functionCall: { name: 'three', args: {} } }
    ] },
    { role: 'user', parts: [
      { functionResponse: { name: 'three', response: { output: '3' } } },
      { functionResponse: { name: 'three', response: { output: '4' } } }
    ] }
  ]
  t.same(googleBody({ messages: messages as [] }).contents, expected())
  t.same(
    googleBody({ messages: messages as [] }, 'gemini-3-pro-preview').contents,
    expected('skip_thought_signature_validator'),
    'a signature that was lost is stood in for, on the first call only'
  )
})

t.test('sequential calls are separate turns', async t => {
  const call = (id: string): ChatInput['messages'][number] => ({
    role: 'assistant',
    tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }]
  })
  const result = (id: string): ChatInput['messages'][number] => ({
    role: 'tool',
    tool_call_id: id,
    content: 'r'
  })
  const kinds = (messages: ChatInput['messages']): unknown =>
    googleBody({ messages }).contents.map(({ parts }) =>
      parts.map(part => `${Object.keys(part).join()} ${part.functionCall?.id ?? part.functionResponse?.id}`)
    )
  t.same(kinds([call('a'), result('a'), call('b'), result('b')]), [
    ['functionCall a'],
    ['functionResponse a'],
    ['functionCall b'],
    ['functionResponse b']
  ])
  t.same(kinds([call('a'), call('b'), result('b'), result('a')]), [
    ['functionCall a', 'functionCall b'],
    ['functionResponse a', 'functionResponse b']
  ])
})
