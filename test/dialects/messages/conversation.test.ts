import t from 'tap'
import { conversationOf } from '../../../lib/dialects/messages/conversation.ts'
import type { MessagesBlock, MessagesMessage } from '../../../schemas/messages-request.ts'

const conversation = (messages: readonly MessagesMessage[], system?: string): unknown =>
  conversationOf(system, messages, error => {
    throw error
  })

t.test('messages of a single text become plain text, and empty ones are dropped', async t => {
  t.strictSame(
    conversation(
      [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [] },
        { role: 'assistant', content: [{ type: 'text', text: 'yes' }] }
      ],
      'Help.'
    ),
    [
      { role: 'system', content: 'Help.' },
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'yes' }
    ]
  )
})

t.test('the texts of an answer are joined, unless one has a cache mark', async t => {
  const parts = [{ type: 'text' as const, text: 'a' }, { type: 'text' as const, text: 'b' }]
  const marked = parts.map(part => ({ ...part, cache_control: { type: 'ephemeral' as const } }))
  t.strictSame(
    conversation([{ role: 'assistant', content: parts }, { role: 'user', content: 'hi' }]),
    [{ role: 'assistant', content: 'ab' }, { role: 'user', content: 'hi' }]
  )
  t.match(conversation([{ role: 'assistant', content: marked }]), [{ content: marked }])
})

t.test('the cache mark of a tool call stays with it', async t => {
  const mark = { cache_control: { type: 'ephemeral' as const } }
  const use = { type: 'tool_use' as const, id: 'a', name: 'look', input: {} }
  t.match(conversation([{ role: 'assistant', content: [use, { ...use, id: 'b', ...mark }] }]), [
    { tool_calls: [{ id: 'a', cache_control: undefined }, { id: 'b', ...mark }] }
  ])
})

t.test('the cache mark of a tool result stays with its text', async t => {
  const mark = { cache_control: { type: 'ephemeral' as const } }
  const result = { type: 'tool_result' as const, tool_use_id: 'a', content: 'seen' }
  const messages = conversation([
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
    { role: 'user', content: [{ ...result, is_error: true, ...mark }] }
  ])
  t.match(messages, [
    {},
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'Error: seen', ...mark }] }
  ])
  const texts = [{ type: 'text' as const, text: 'a', ...mark }, { type: 'text' as const, text: 'b' }]
  t.strictSame(
    conversation([{ role: 'user', content: [{ ...result, content: texts }] }]),
    [{ role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'a\nb', ...mark }] }],
    'also where a part of it has the mark'
  )
  t.match(conversation([{ role: 'user', content: [{ ...result, cache_control: null }] }]), [
    { content: 'seen' }
  ])
  t.match(conversation([{ role: 'user', content: [{ ...result, content: '', ...mark }] }]), [
    { content: '' }
  ])
})

t.test('a system message between calls and their results is moved behind the results', async t => {
  t.strictSame(
    conversation([
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
      { role: 'system', content: 'Take care.' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'seen' }] }
    ]),
    [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }]
      },
      { role: 'tool', tool_call_id: 'a', content: 'seen' },
      { role: 'system', content: 'Take care.' }
    ]
  )
  t.strictSame(
    conversation([
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
      { role: 'system', content: 'Take care.' }
    ]),
    [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }]
      },
      { role: 'system', content: 'Take care.' }
    ],
    'also if no result follows'
  )
})

t.test('consecutive messages of one role are merged, so that results follow their calls', async t => {
  const use = (id: string): MessagesBlock => ({ type: 'tool_use', id, name: 'look', input: {} })
  const image = { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } } as const
  const result = (id: string, content: string | [typeof image]): MessagesBlock => ({
    type: 'tool_result',
    tool_use_id: id,
    content
  })
  const calls = ['a', 'b'].map(id => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } }))
  const tool = (id: string, content = 'seen'): object => ({ role: 'tool', tool_call_id: id, content })
  t.strictSame(conversation([
    { role: 'assistant', content: [use('a')] }, { role: 'assistant', content: [use('b')] },
    { role: 'user', content: [result('a', 'seen'), result('b', 'seen')] }
  ]), [{ role: 'assistant', content: null, tool_calls: calls }, tool('a'), tool('b')])
  const results: MessagesMessage[] = [
    { role: 'assistant', content: [use('a'), use('b')] },
    { role: 'user', content: [result('a', [image]), { type: 'text', text: 'And?' }] },
    { role: 'user', content: [result('b', 'seen')] },
    { role: 'user', content: 'Well?' }
  ]
  const parts = [
    { type: 'text', text: 'The image 1 of tool call a:' },
    { type: 'image_url', image_url: { url: 'https://a.example/b.png' } },
    { type: 'text', text: 'And?' }
  ]
  const well = { type: 'text', text: 'Well?' }
  const called = [
    { role: 'assistant', content: null, tool_calls: calls },
    tool('a', '[image 1 of tool call a: in the next message]'),
    tool('b')
  ]
  t.strictSame(conversation(results), [...called, { role: 'user', content: [...parts, well] }])
  const care = { role: 'system', content: 'Take care.' } as const
  t.strictSame(
    conversation(results.toSpliced(2, 0, care)),
    [...called, care, { role: 'user', content: [...parts, well] }],
    'with a system message between the results'
  )
  t.strictSame(
    conversation(results.toSpliced(3, 0, care)),
    [...called, { role: 'user', content: parts }, care, { role: 'user', content: 'Well?' }],
    'and with one after them'
  )
})

t.test('a call without a result does not delay later messages', async t => {
  t.strictSame(
    conversation([
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'Take care.' },
      { role: 'user', content: 'Well?' }
    ]),
    [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }]
      },
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'Take care.' },
      { role: 'user', content: 'Well?' }
    ]
  )
})

t.test('a tool error is prefixed with `Error:` once', async t => {
  const result = (content: string): unknown =>
    conversation([
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', is_error: true, content }] }
    ])
  t.strictSame(result('gone'), [{ role: 'tool', tool_call_id: 'a', content: 'Error: gone' }])
  t.strictSame(result('error: gone'), [{ role: 'tool', tool_call_id: 'a', content: 'error: gone' }])
})

t.test('the billing line for Anthropic is left out', async t => {
  t.strictSame(conversation([{ role: 'user', content: 'hi' }], 'x-anthropic-billing-header: cc_version=2'), [
    { role: 'user', content: 'hi' }
  ])
})

t.test('each message, part and call has the place that it came from', async t => {
  const places = new Map<object, string>()
  const use = { type: 'tool_use', id: 'a', name: 'look', input: {} } as const
  const image = { type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } } as const
  const messages = conversationOf(
    'Be brief.',
    [
      { role: 'user', content: 'one' },
      { role: 'user', content: [{ type: 'text', text: 'two' }, image] },
      { role: 'assistant', content: [{ type: 'text', text: 'three' }, use] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] }
    ],
    () => t.fail(),
    places
  )
  t.strictSame(
    messages.map(message => [
      places.get(message),
      ...(Array.isArray(message.content) ? message.content : []).map(part => places.get(part)),
      ...(message.role === 'assistant' ? message.tool_calls ?? [] : []).map(call => places.get(call))
    ]),
    [
      ['system'],
      ['messages[0]', 'messages[0].content', 'messages[1].content[0]', 'messages[1].content[1]'],
      ['messages[2]', 'messages[2].content[1]'],
      ['messages[3].content[0]'],
      ['messages[3]', undefined, 'messages[3].content[0].content[0]']
    ]
  )
})
