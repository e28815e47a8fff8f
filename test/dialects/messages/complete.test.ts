import t from 'tap'
import { MessageFold } from '../../../lib/dialects/messages/complete.ts'
import { complete, folded } from './answer.ts'
import type { MessagesStreamEvent } from '../../../schemas/messages-answer.ts'

const usage = {
  input_tokens: 1,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 2
}
const start: MessagesStreamEvent = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage
  }
}
const end: MessagesStreamEvent = {
  type: 'message_delta',
  delta: { stop_reason: 'end_turn', stop_sequence: null },
  usage
}

t.test('deltas are added to their blocks', async t => {
  const message = folded([
    start,
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' }
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'ping' },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'a' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'b' } },
    { type: 'content_block_stop', index: 1 },
    end
  ])
  t.strictSame(message, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'text', text: 'ab' }
    ],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage
  })
})

t.test(
  'tool input is parsed from its pieces, and truncated or non-object input becomes {}',
  async t => {
    for (const [pieces, input] of [
      [['{"a"', ':1}'], { a: 1 }],
      [[], {}],
      [['{"a"'], {}],
      [['[1]'], {}]
    ] as const) {
      const { content } = folded([
        start,
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'tool_use', id: 'a', name: 'look', input: {} }
        },
        ...pieces.map((partial_json): MessagesStreamEvent => ({
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'input_json_delta', partial_json }
        })),
        { type: 'content_block_stop', index: 0 },
        end
      ])
      t.strictSame(content, [{ type: 'tool_use', id: 'a', name: 'look', input }], pieces.join(''))
    }
  }
)

t.test('a stream without an end is an error', async t => {
  const fold = new MessageFold()
  fold.add(start)
  t.throws(() => fold.result(), TypeError)
})

t.test('the complete answer equals the fold of its events', async t => {
  t.match(
    await complete([
      [
        { type: 'answer-start' },
        { type: 'text-delta', choice: 0, text: 'Hi' },
        { type: 'choice-end', choice: 0, reason: 'stop' }
      ]
    ]),
    {
      type: 'message',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 10 }
    }
  )
})
