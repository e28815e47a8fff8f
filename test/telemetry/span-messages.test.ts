import t from 'tap'
import { answerMessages, cutMessages, requestMessages } from '../../lib/telemetry/span-messages.ts'

const text = (content: string): object => ({ type: 'text', content })

t.test('the messages of a request follow the conventions, in any dialect', async t => {
  t.strictSame(
    requestMessages({
      messages: [
        { role: 'system', content: 'be brief' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'hi' },
            { type: 'image_url', image_url: { url: 'https://x.test/a.png' } }
          ]
        },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'hm',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }]
        },
        { role: 'tool', tool_call_id: 'c1', content: 'done' }
      ]
    }),
    {
      system: [],
      input: [
        { role: 'system', parts: [text('be brief')] },
        { role: 'user', parts: [text('hi'), { type: 'image_url' }] },
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', content: 'hm' },
            { type: 'tool_call', id: 'c1', name: 'f', arguments: '{"a":1}' }
          ]
        },
        { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'done' }] }
      ]
    }
  )
  t.strictSame(
    requestMessages({
      system: [{ type: 'text', text: 'be brief' }],
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 's' },
            { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } }
          ]
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'done' }] }
      ]
    }),
    {
      system: [text('be brief')],
      input: [
        { role: 'user', parts: [text('hi')] },
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', content: 'hm' },
            { type: 'tool_call', id: 'c1', name: 'f', arguments: { a: 1 } }
          ]
        },
        { role: 'user', parts: [{ type: 'tool_call_response', id: 'c1', response: 'done' }] }
      ]
    }
  )
  t.strictSame(
    requestMessages({
      instructions: 'be brief',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'done' },
        { type: 'item_reference', id: 'i1' }
      ]
    }),
    {
      system: [text('be brief')],
      input: [
        { role: 'user', parts: [text('hi')] },
        { role: 'assistant', parts: [{ type: 'reasoning', content: 'hm' }] },
        { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'f', arguments: '{}' }] },
        { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'done' }] },
        { role: 'assistant', parts: [{ type: 'item_reference' }] }
      ]
    }
  )
})

t.test('a request of texts is one user message, and one without texts is none', async t => {
  for (const body of [{ input: 'hi' }, { input: ['hi'] }, { prompt: 'hi' }, 'hi']) {
    t.strictSame(requestMessages(body).input, [{ role: 'user', parts: [text('hi')] }], JSON.stringify(body))
  }
  for (const body of [{}, { input: [] }, undefined, null, 1]) {
    t.strictSame(requestMessages(body), { system: [], input: [] }, JSON.stringify(body))
  }
})

t.test('the messages of a complete answer follow the conventions, in any dialect', async t => {
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
  t.strictSame(
    answerMessages({
      choices: [
        { index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' },
        {
          index: 1,
          message: { role: 'assistant', content: null, tool_calls: [call] },
          finish_reason: 'tool_calls'
        }
      ]
    }),
    [
      { role: 'assistant', finish_reason: 'stop', parts: [text('a')] },
      {
        role: 'assistant',
        finish_reason: 'tool_calls',
        parts: [{ type: 'tool_call', id: 'c1', name: 'f', arguments: '{}' }]
      }
    ]
  )
  t.strictSame(
    answerMessages({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'a' }],
      stop_reason: 'end_turn'
    }),
    [{ role: 'assistant', parts: [text('a')], finish_reason: 'end_turn' }]
  )
  t.strictSame(
    answerMessages({
      status: 'completed',
      output: [
        { type: 'reasoning', summary: [] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }
      ]
    }),
    [
      {
        role: 'assistant',
        parts: [text('a'), { type: 'tool_call', id: 'c1', name: 'f', arguments: '{}' }],
        finish_reason: 'completed'
      }
    ]
  )
  t.strictSame(answerMessages({ choices: [{ index: 0, text: 'a', finish_reason: 'stop' }] }), [
    { role: 'assistant', finish_reason: 'stop', parts: [text('a')] }
  ])
  t.strictSame(answerMessages('a'), [{ role: 'assistant', parts: [text('a')] }])
  for (const body of [{ error: { message: 'no' } }, { data: [{ embedding: [1] }] }, [], undefined]) {
    t.strictSame(answerMessages(body), [], JSON.stringify(body))
  }
})

t.test('the retained part of a stream becomes messages too', async t => {
  t.strictSame(
    answerMessages([
      { type: 'message_start', message: { role: 'assistant', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'a' } },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 'c1', name: 'f', input: {} }
      },
      {
        type: 'content_block_delta',
        index: 2,
        delta: { type: 'input_json_delta', partial_json: '{"x":1}' }
      },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } }
    ]),
    [
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'hm' },
          text('a'),
          { type: 'tool_call', id: 'c1', name: 'f', arguments: '{"x":1}' }
        ],
        finish_reason: 'tool_use'
      }
    ]
  )
  t.strictSame(
    answerMessages([
      { choices: [{ index: 0, message: { role: 'assistant', content: 'a' } }] },
      { error: { code: 'timeout' } }
    ]),
    [{ role: 'assistant', parts: [text('a')] }]
  )
  t.strictSame(
    answerMessages([
      { choices: [{ index: 0, text: 'a' }] },
      { choices: [{ index: 1, text: 'b' }] },
      { choices: [{ index: 0, text: '', finish_reason: 'stop' }] }
    ]),
    [
      { role: 'assistant', parts: [text('a')], finish_reason: 'stop' },
      { role: 'assistant', parts: [text('b')] }
    ]
  )
  t.strictSame(
    answerMessages([
      { type: 'response.created', response: {} },
      { type: 'response.output_text.delta', item_id: 'i', delta: 'a' }
    ]),
    [{ role: 'assistant', parts: [text('a')] }]
  )
})

t.test('messages are cut to a size, and remain valid JSON without split characters', async t => {
  const parts = [{ type: 'text', content: 'ä'.repeat(50) }]
  const messages = Array.from({ length: 10 }, () => ({ role: 'user', parts }))
  t.strictSame(cutMessages(messages, 10_000), { messages, isCut: false })
  for (const maxBytes of [1, 40, 200, 201, 202, 300, 1000]) {
    const { messages: cut, isCut } = cutMessages(messages, maxBytes)
    t.ok(isCut, `${maxBytes} bytes`)
    t.ok(
      Buffer.byteLength(JSON.stringify(cut)) <= maxBytes + 100,
      `${JSON.stringify(cut).length} for ${maxBytes}`
    )
    t.notMatch(JSON.stringify(cut), /\uFFFD/)
  }
  t.strictSame(
    cutMessages([{ role: 'user', parts: [{ type: 'tool_call', arguments: 'x'.repeat(300) }] }], 100),
    { messages: [{ role: 'user', parts: [] }], isCut: true }
  )
})
