import t from 'tap'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { readResponse } from '../../support/adapters.ts'
import { ask, streamed } from '../../support/chat-completions.ts'

type Given = { readonly text?: string, readonly thinking?: readonly unknown[], readonly choice?: number }

function frame ({ text, thinking, choice = 0 }: Given): string {
  return `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, choices: [{ index: choice, delta: { content: text, thinking_blocks: thinking } }] })}\n\n`
}

/** Returns the thinking and text of a stream. */
function thinkingOf (given: readonly Given[], n = 1): readonly unknown[] {
  const ends = Array.from(
    { length: n },
    (_, index) => `data: {"id":"1","choices":[{"index":${index},"delta":{},"finish_reason":"stop"}]}\n\n`
  )
  return streamed(`${given.map(frame).join('')}${ends.join('')}`, { n }).flatMap((event): unknown[] =>
    event.type === 'thinking-block'
      ? [n === 1 ? event.block : [event.choice, event.block]]
      : event.type === 'text-delta'
        ? [event.text]
        : []
  )
}

t.test('thinking in pieces is one block, ended by its signature', async t => {
  const piece = (thinking: unknown, signature: unknown = ''): unknown => ({
    type: 'thinking',
    thinking,
    signature
  })
  const block = (thinking: string, signature: string): object => ({ type: 'thinking', thinking, signature })
  const pieces = [piece('Let'), piece(' me'), piece('', 'c2ln')].map(thinking => ({ thinking: [thinking] }))
  t.same(thinkingOf([...pieces, { text: 'Hi' }]), [block('Let me', 'c2ln'), 'Hi'])
  t.same(thinkingOf([...pieces, ...pieces]), [block('Let me', 'c2ln'), block('Let me', 'c2ln')])
  t.same(thinkingOf([{ thinking: [piece('Let', null), piece(' me', null), piece(null, 's')] }]), [
    block('Let me', 's')
  ])
  t.same(
    thinkingOf([
      { thinking: [{ type: 'thinking', thinking: 'Let' }] },
      { thinking: [{ type: 'thinking', signature: 's' }] }
    ]),
    [block('Let', 's')]
  )
  t.same(
    thinkingOf([
      { thinking: [piece('a')] },
      { thinking: [{ type: 'redacted_thinking', data: 'ZGF0YQ' }] },
      { thinking: [piece('b', 's')] }
    ]),
    [block('a', ''), { type: 'redacted_thinking', data: 'ZGF0YQ' }, block('b', 's')]
  )
  t.same(
    thinkingOf(
      [
        { thinking: [piece('a')] },
        { thinking: [piece('b')], choice: 1 },
        { thinking: [piece('', 's')] },
        { thinking: [piece('', 't')], choice: 1 }
      ],
      2
    ),
    [
      [0, block('a', 's')],
      [1, block('b', 't')]
    ]
  )
})

t.test('thinking without a signature ends at the next text or with its choice', async t => {
  const given = ['Let', ' me'].map(thinking => ({ thinking: [{ type: 'thinking', thinking }] }))
  const block = { type: 'thinking', thinking: 'Let me' }
  // The second time, the way that the model's streams begin is known.
  for (const _ of [1, 2]) {
    t.same(thinkingOf([{}, { text: 'Hi' }, { text: ' there' }, ...given, { text: '!' }, { text: '!' }]), [
      'Hi',
      ' there',
      block,
      '!',
      '!'
    ])
    t.same(thinkingOf([{}, ...given, { text: 'Hi' }, { text: ' there' }]), [block, 'Hi', ' there'])
    t.same(thinkingOf(given), [block])
  }
  const called = streamed(
    `${given.map(frame).join('')}data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"k","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}\n\n`
  )
  t.same(
    called.map(({ type }) => type),
    ['answer-start', 'thinking-block', 'tool-call-start', 'tool-call-delta', 'tool-call-end', 'choice-end']
  )
})

t.test('thinking blocks that come complete are unchanged, streamed or not', async t => {
  const blocks = [
    { type: 'thinking', thinking: 'a', signature: 's', x_new: { y: 1 } },
    { type: 'redacted_thinking', data: 'ZGF0YQ' },
    { type: 'thinking', thinking: '', signature: 't' }
  ]
  t.same(thinkingOf([{ thinking: blocks }]), blocks)
  t.same(thinkingOf(blocks.map(block => ({ thinking: [block] }))), blocks)
  const unsigned = [
    { type: 'thinking', thinking: 'a' },
    { type: 'thinking', thinking: 'b', signature: '' }
  ]
  const read = readResponse(
    chatCompletions,
    { choices: [{ message: { content: 'c', thinking_blocks: [...blocks, ...unsigned] } }] },
    ask()
  )
  t.same(
    read.flatMap(event => (event.type === 'thinking-block' ? [event.block] : [])),
    [...blocks, ...unsigned]
  )
})

t.test('thinking fields that are not text are dropped', async t => {
  t.same(
    thinkingOf([
      {
        thinking: [
          { type: 'thinking', thinking: null, signature: null },
          { type: 'redacted_thinking', data: null },
          { type: 'redacted_thinking' },
          {},
          null,
          'x'
        ]
      }
    ]),
    []
  )
  t.same(thinkingOf([{ thinking: [{ type: 'thinking', thinking: 'a', signature: 7 }] }]), [
    { type: 'thinking', thinking: 'a' }
  ])
  t.same(thinkingOf([{ thinking: [{ type: null, thinking: 'a', signature: 's', data: null }] }]), [
    { type: 'thinking', thinking: 'a', signature: 's' }
  ])
})

t.test('choices are numbered as requested, however the server numbers them', async t => {
  const choice = (index: unknown): string =>
    JSON.stringify({
      id: '1',
      choices: [{ index, delta: { content: String(index) }, finish_reason: 'stop' }]
    })
  const choicesOf = (indexes: readonly unknown[], n?: number): unknown =>
    streamed(indexes.map(index => `data: ${choice(index)}\n\n`).join(''), n === undefined ? {} : { n })
      .filter(event => event.type === 'text-delta')
      .map(event => [event.choice, event.text])
  t.same(choicesOf([5]), [[0, '5']])
  t.same(choicesOf([1, 0], 2), [
    [1, '1'],
    [0, '0']
  ])
  t.same(choicesOf([-1, 7, 8], 2), [
    [0, '-1'],
    [1, '7']
  ])
  t.same(choicesOf([0, 1, 2, 3], 1), [[0, '0']])
})

t.test('a tier that is not in the contract is dropped', async t => {
  const head = (tier: string): unknown =>
    readResponse(chatCompletions, { service_tier: tier, choices: [{ message: { content: 'a' } }] }, ask())[0]
  t.same(head('on_demand'), { type: 'answer-start' })
  t.same(head('priority'), { type: 'answer-start', serviceTier: 'priority' })
})

/** Returns the events of a stream of these choices. */
function eventsOf (choices: readonly object[]): ReturnType<typeof streamed> {
  return streamed(
    choices
      .map(choice => `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, ...choice }] })}\n\n`)
      .join('')
  )
}

t.test('missing pieces are read from the complete message at the end of a stream', async t => {
  const call = { index: 0, id: 'k', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
  const message = { role: 'assistant', content: 'hello', reasoning_content: 'plan', tool_calls: [call] }
  const textOf = (events: ReturnType<typeof streamed>, type: string): string =>
    events.map(event => (event.type === type && 'text' in event ? event.text : '')).join('')
  const pieces = [
    { delta: { reasoning_content: 'pl' } },
    { delta: { reasoning_content: 'an' } },
    ...['he', 'l', 'l', 'o'].map(content => ({ delta: { content } }))
  ]
  for (const [before, end] of [
    [[...pieces, { delta: { tool_calls: [call] } }], { message }],
    [pieces, { message }],
    [[], { message }],
    [[], { delta: {}, message }],
    [[{ delta: { role: 'assistant', content: '' } }], { delta: { content: null }, message }],
    [pieces, { delta: { content: '' }, message }]
  ] as const) {
    const events = eventsOf([...before, { ...end, finish_reason: 'stop' }])
    t.equal(textOf(events, 'text-delta'), 'hello')
    t.equal(textOf(events, 'reasoning-delta'), 'plan')
    t.equal(textOf(events, 'tool-call-delta'), '{"a":1}')
    t.equal(events.filter(({ type }) => type === 'tool-call-start').length, 1)
  }
  const inMessages = eventsOf([
    ...['he', 'llo'].map(content => ({ message: { content } })),
    { finish_reason: 'stop' }
  ])
  t.equal(textOf(inMessages, 'text-delta'), 'hello', 'a server that calls its deltas messages')
})

t.test('a cut or filtered answer is not complete, whatever was reported before', async t => {
  const reasonOf = (...reasons: readonly unknown[]): unknown =>
    eventsOf([
      { delta: { content: 'a' } },
      ...reasons.map(reason => ({ delta: {}, finish_reason: reason }))
    ]).at(-1)
  for (const [reasons, reason] of [
    [['stop', 'length'], 'length'],
    [['stop', 'content_filter'], 'content_filter'],
    [['length', 'stop'], 'length'],
    [['stop', null, ''], 'stop'],
    [['length', 'content_filter'], 'content_filter']
  ] as const) {
    t.match(reasonOf(...reasons), { type: 'choice-end', reason })
  }
})

t.test('the index of a choice may be text', async t => {
  const events = streamed(
    ['0', '1', '0']
      .map(
        index =>
          `data: ${JSON.stringify({ id: '1', choices: [{ index, delta: { content: index }, finish_reason: 'stop' }] })}\n\n`
      )
      .join(''),
    { n: 2 }
  )
  t.same(
    events.flatMap(event => (event.type === 'text-delta' ? [[event.choice, event.text]] : [])),
    [
      [0, '0'],
      [1, '1'],
      [0, '0']
    ]
  )
})

t.test('an answer that ends with tool calls but has none is an error', async t => {
  t.throws(
    () =>
      eventsOf([{ delta: { role: 'assistant', content: '' } }, { delta: {}, finish_reason: 'tool_calls' }]),
    { code: 'upstream_invalid_response' }
  )
  t.match(eventsOf([{ delta: { content: 'a' } }, { delta: {}, finish_reason: 'tool_calls' }]).at(-1), {
    reason: 'stop'
  })
  const hollow = { delta: { tool_calls: [{ index: 0 }] } }
  t.throws(
    () => eventsOf([hollow, hollow, { delta: {}, finish_reason: 'stop' }]),
    { code: 'upstream_invalid_response' },
    'pieces of calls that hold nothing'
  )
  t.match(eventsOf([hollow, { delta: {}, finish_reason: 'length' }]).at(-1), { reason: 'length' })
})
