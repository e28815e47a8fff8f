import t from 'tap'
import { ask, body, bodyOf, read } from '../../support/anthropic-answers.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { MessagesRequest } from '../../../lib/providers/anthropic/wire.ts'

t.test('a tool call without a result is named in the refusal', async t => {
  const call = (id: string): object => ({ id, type: 'function', function: { name: 'now', arguments: '{}' } })
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', tool_calls: [call('a'), call('b')] },
    { role: 'tool', tool_call_id: 'a', content: '' }
  ] as ChatInput['messages'] // the calls are plain objects, as they come from callers
  t.throws(() => body({ messages }), { code: 'invalid_value', message: /; `b` has none\./ })
})

t.test('the cache mark of a tool call is sent with it', async t => {
  const cache_control = { type: 'ephemeral', ttl: '1h' }
  const messages = [
    { role: 'user', content: 'hi' },
    {
      role: 'assistant',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'now', arguments: '{}' }, cache_control }]
    },
    { role: 'tool', tool_call_id: 'a', content: 'x' }
  ] as ChatInput['messages'] // a field missing from the schema
  t.match(body({ messages }).messages[1], {
    content: [{ type: 'tool_use', id: 'a', name: 'now', input: {}, cache_control }]
  })
})

t.test('a document at an address is left to the server to fetch', async t => {
  const url = 'https://a.example/b.pdf'
  const part = { type: 'file' as const, file: { file_data: url, filename: 'b.pdf' } }
  t.same(body({ messages: [{ role: 'user', content: [part] }] }).messages, [
    { role: 'user', content: [{ type: 'document', source: { type: 'url', url }, title: 'b.pdf' }] }
  ])
})

t.test('no system message is lost', async t => {
  const { system } = body({
    messages: [
      { role: 'system', content: 'a' },
      { role: 'user', content: 'b' },
      { role: 'system', content: 'c' }
    ]
  })
  t.strictSame(system, [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'c' }
  ])
})

t.test('results of parallel calls form one message, first in it and in the order of the calls', async t => {
  // our fixture
  const { messages } = JSON.parse(read('tool-round.request.json').toString()).body as MessagesRequest
  t.match(messages[2]?.content, [
    { type: 'tool_result', tool_use_id: 'toolu_1' },
    { type: 'tool_result' },
    { type: 'text' }
  ])
  t.equal(messages.length, 5)
})

t.test('no empty text accompanies a tool call', async t => {
  const { messages } = body({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: '', tool_calls: [{ id: 'a', function: { name: 'now', arguments: '' } }] },
      { role: 'tool', tool_call_id: 'a', content: 'x' }
    ]
  })
  t.strictSame(messages[1]?.content, [{ type: 'tool_use', id: 'a', name: 'now', input: {} }])
})

t.test('thinking without its signature is not sent back', async t => {
  t.notMatch(
    JSON.stringify(JSON.parse(read('unsigned-thinking.request.json').toString()).body),
    /think|because/
  )
})

t.test(
  'duplicate ids in a conversation are made unique, and each result keeps the id of its call',
  async t => {
    const turn = (id: string, p: string): ChatInput['messages'] => [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: `{"p":"${p}"}` } }]
      },
      { role: 'tool', tool_call_id: id, content: p }
    ]
    const { messages } = body({
      messages: [
        { role: 'user', content: 'a' },
        ...turn('call_0', '1'),
        ...turn('call_0_2', '2'),
        ...turn('call_0', '3'),
        ...turn('call_0', '4')
      ]
    })
    const blocks = messages.flatMap(({ content }): unknown[] =>
      typeof content === 'string' ? [] : content
    ) as ReadonlyArray<Record<string, unknown>>
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    t.equal(new Set(calls).size, 4)
    t.same(
      blocks
        .filter(({ type }) => type === 'tool_result')
        .map(({ tool_use_id: id, content }) => [id, content]),
      calls.map((id, index) => [id, String(index + 1)])
    )
  }
)

t.test('whitespace-only texts are dropped everywhere', async t => {
  const { system, messages } = body({
    messages: [
      { role: 'system', content: ' ' },
      {
        role: 'user',
        content: [
          { type: 'text', text: '  ' },
          { type: 'text', text: 'x' }
        ]
      },
      {
        role: 'assistant',
        content: '\n\n',
        tool_calls: [{ id: 'k', type: 'function', function: { name: 'f', arguments: '{}' } }]
      },
      { role: 'tool', tool_call_id: 'k', content: '\t' }
    ]
  })
  t.equal(system, undefined)
  t.same(messages, [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'k', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'k' }] }
  ])
})

t.test('a lone system prompt becomes a user message', async t => {
  for (const role of ['system', 'developer'] as const) {
    t.match(body({ messages: [{ role, content: 'Say hi.' }] }), {
      system: undefined,
      messages: [{ role: 'user', content: 'Say hi.' }]
    })
  }
  t.throws(() => body({ messages: [{ role: 'system', content: ' ' }] }), {
    code: 'invalid_value',
    param: 'messages'
  })
})

t.test('unsigned thinking is sent back to servers that do not sign', async t => {
  const given = ask({
    messages: [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b', thinking_blocks: [{ type: 'thinking', thinking: 'hm' }] },
      { role: 'user', content: 'c' }
    ]
  })
  t.match(bodyOf({ ...given, quirks: { unsignedThinking: true } }).messages[1], {
    content: [
      { type: 'thinking', thinking: 'hm', signature: '' },
      { type: 'text', text: 'b' }
    ]
  })
  t.match(bodyOf(given).messages[1], { content: 'b' })
})

t.test('thinking is sent in the order of its turn, and first without one', async t => {
  const look = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } } as const
  const blocksFor = (order: unknown): unknown => body({
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'one' }, { type: 'text', text: ' ' }, { type: 'text', text: 'two' }],
        thinking_blocks: [1, 2].map(n => ({ type: 'thinking', thinking: 'hm', signature: `s${n}` })),
        tool_calls: [look],
        ...order !== undefined && { turn_order: order }
      },
      { role: 'tool', tool_call_id: 'a', content: 'seen' }
    ]
  }).messages[1]?.content
  const [first, second] = ['s1', 's2'].map(signature => ({ type: 'thinking', thinking: 'hm', signature }))
  const [one, two] = ['one', 'two'].map(text => ({ type: 'text', text }))
  const call = { type: 'tool_use', id: 'a', name: 'look', input: {} }
  t.strictSame(blocksFor(['text', 'thinking', 'call', 'text', 'thinking', 'text']),
    [one, first, call, second, two])
  for (const order of [undefined, 'text', [], [1, null, {}, 'toString']]) {
    t.same(blocksFor(order), [first, second, one, two, call], JSON.stringify(order))
  }
})

t.test('thinking at the end of a turn is not sent', async t => {
  const order = { turn_order: ['text', 'thinking'] }
  const { messages } = body({
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'one' }],
        thinking_blocks: [{ type: 'redacted_thinking', data: 'd' }],
        ...order
      },
      { role: 'user', content: 'go on' }
    ]
  })
  t.equal(messages[1]?.content, 'one')
})
