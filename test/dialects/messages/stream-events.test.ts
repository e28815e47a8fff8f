import fc from 'fast-check'
import t from 'tap'
import { Compile } from 'typebox/compile'
import { GatewayError } from '../../../lib/core/errors.ts'
import { anyAnswer, choice, text, thought, signed, start, piece, stop, end, usage } from './any-answer.ts'
import { complete, folded, framesOf, orderFaults, streamed } from './answer.ts'
import { MessagesAnswer, MessagesStreamEvent } from '../../../schemas/messages-answer.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'
import { rounds } from '../../support/rounds.ts'

const isEvent = Compile(MessagesStreamEvent)
const isAnswer = Compile(MessagesAnswer)

t.test('an answer has a message_start, consecutive blocks, and an end', async t => {
  const stream = await streamed([
    [thought('hm'), signed('hm', 'sig')],
    [text('a'), text('"b\n')],
    [start(0), piece(0, '{"x"'), piece(0, ':1}'), stop(0), end('tool_calls'), usage]
  ])
  const events = framesOf(stream)
  t.same(orderFaults(events), [])
  t.match(events[0], {
    message: {
      id: /^msg_/,
      role: 'assistant',
      model: 'one/m',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 10, output_tokens: 0 }
    }
  })
  t.same(events.slice(2), [
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' }
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'a' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: '"b\n' } },
    { type: 'content_block_stop', index: 1 },
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'call_0', name: 'tool_0', input: {} }
    },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"x"' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: ':1}' } },
    { type: 'content_block_stop', index: 2 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 2,
        cache_read_input_tokens: 8,
        output_tokens: 5,
        output_tokens_details: { thinking_tokens: 3 }
      }
    },
    { type: 'message_stop' }
  ])
})

t.test('the finish reason is translated to this dialect', async t => {
  const rows: ReadonlyArray<readonly [ChatEvent[], object]> = [
    [[text('a'), end()], { stop_reason: 'end_turn', stop_sequence: null }],
    [[text('a'), end('length')], { stop_reason: 'max_tokens', stop_sequence: null }],
    [
      [text('a'), end('stop', { stopSequence: 'END' })],
      { stop_reason: 'stop_sequence', stop_sequence: 'END' }
    ],
    [[start(0), piece(0, '{}'), stop(0), end()], { stop_reason: 'tool_use', stop_sequence: null }],
    [
      [text('a'), end('content_filter')],
      { stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation: null } }
    ],
    [
      [{ type: 'refusal-delta', choice, text: 'No.' }, end()],
      {
        stop_reason: 'refusal',
        stop_details: { explanation: 'No.' },
        content: [{ type: 'text', text: 'No.' }]
      }
    ],
    [[end()], { stop_reason: 'end_turn', content: [] }]
  ]
  for (const [events, wanted] of rows) t.match(await complete([events]), wanted)
})

t.test('an answer without reported usage has an estimate', async t => {
  t.match((await complete([[text('12345678'), end()]])).usage, {
    input_tokens: 10,
    output_tokens: 2,
    cache_read_input_tokens: 0
  })
})

t.test('thinking that the caller wants omitted keeps its signature', async t => {
  const { content } = await complete([[thought('secret'), signed('secret', 'sig'), text('a'), end()]], {
    hidesThinking: true
  })
  t.same(content, [
    { type: 'thinking', thinking: '', signature: 'sig' },
    { type: 'text', text: 'a' }
  ])
  t.same((await complete([[thought('secret'), text('a'), end()]], { hidesThinking: true })).content, [
    { type: 'text', text: 'a' }
  ])
})

t.test('tool calls have valid ids, original names, and the data their provider expects back', async t => {
  const extra = { extra_content: { google: { thought_signature: 'AAAA' } } }
  const { content } = await complete(
    [[start(0, 'functions.Bash:0', 'short', { extra }), stop(0), end('tool_calls')]],
    { toolNames: new Map([['short', 'long']]) }
  )
  t.match(content, [
    { type: 'thinking', thinking: '', signature: /^hg1\./ },
    { type: 'tool_use', id: /^toolu_hg_[\w-]+$/, name: 'long', input: {} }
  ])
})

t.test('interleaved pieces of calls are put in order', async t => {
  const { content } = await complete([
    [
      start(0),
      start(1),
      piece(0, '{"a":'),
      piece(1, '{"b":'),
      text('late'),
      piece(0, '1}'),
      piece(1, '2}'),
      stop(0),
      stop(1),
      end('tool_calls')
    ]
  ])
  t.same(content, [
    { type: 'tool_use', id: 'call_0', name: 'tool_0', input: { a: 1 } },
    { type: 'tool_use', id: 'call_1', name: 'tool_1', input: { b: 2 } },
    { type: 'text', text: 'late' }
  ])
})

t.test('non-object arguments are an error at the end, unless the answer was truncated', async t => {
  const broken = [start(0), piece(0, '{"a":'), stop(0)]
  for (const reason of ['length', 'content_filter'] as const) {
    const cut = await complete([[...broken, end(reason)]])
    t.match(cut.content, [{ type: 'tool_use', input: {} }], reason)
  }
  await t.rejects(complete([[...broken, end('tool_calls')]]), { code: 'upstream_invalid_response' })
  t.match(framesOf(await streamed([[...broken, end('tool_calls')]])).at(-1), {
    type: 'error',
    error: { type: 'api_error' }
  })
})

t.test('a failure in the middle is the last event, and nothing is closed', async t => {
  const events = framesOf(await streamed([[text('a')]], {}, new GatewayError('upstream_overloaded')))
  t.same(
    events.map(({ type }) => type),
    ['message_start', 'ping', 'content_block_start', 'content_block_delta', 'error']
  )
  t.match(events.at(-1), {
    error: { type: 'overloaded_error', details: { error_code: 'upstream_overloaded' } },
    request_id: 'call-1'
  })
})

t.test('for any events the stream is ordered, valid, and folds to the complete answer', async () => {
  await fc.assert(
    fc.asyncProperty(anyAnswer, fc.nat(5), async ({ calls, events, hidesThinking }, size) => {
      const lists =
        size === 0
          ? [events]
          : Array.from({ length: Math.ceil(events.length / size) }, (_, index) =>
              events.slice(index * size, (index + 1) * size)
            )
      const frames = framesOf(await streamed(lists, { hidesThinking }))
      const answer = await complete(lists, { hidesThinking })
      const faults = [
        ...orderFaults(frames),
        ...frames.filter(frame => !isEvent.Check(frame)).map(frame => JSON.stringify(frame))
      ]
      if (faults.length > 0) throw new Error(faults.join('\n'))
      if (!isAnswer.Check(answer)) throw new Error(JSON.stringify(answer))
      if (JSON.stringify({ ...folded(frames), id: '' }) !== JSON.stringify({ ...answer, id: '' })) {
        throw new Error('the stream folds to something else')
      }
      // No call and no argument piece is lost, in any order.
      const inputs = answer.content.flatMap(block =>
        block.type === 'tool_use' ? [[block.name, block.input]] : []
      )
      const wanted = calls.map(({ input }, index) => [
        `tool_${index}`,
        JSON.parse(JSON.stringify(input)) as unknown
      ])
      const sorted = (list: unknown[][]): string =>
        JSON.stringify(list.toSorted((a, b) => String(a[0]).localeCompare(String(b[0]))))
      if (sorted(inputs) !== sorted(wanted)) throw new Error(`${sorted(inputs)} for ${sorted(wanted)}`)
      // Nor is any text.
      const said = events
        .map(event =>
          (event.type === 'text-delta' || event.type === 'refusal-delta') && event.choice === 0
            ? event.text
            : ''
        )
        .join('')
      const shown = answer.content.map(block => (block.type === 'text' ? block.text : '')).join('')
      if (said.length !== shown.length) throw new Error(`${shown} for ${said}`)
    }),
    { numRuns: rounds(500) }
  )
})
