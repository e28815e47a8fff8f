import t from 'tap'
import { joinDeltas } from '../../lib/bodies/join-deltas.ts'

const chunk = (delta: object, more: object = {}): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more }]
})

t.test('chat chunks are joined into the complete answer, followed by an error', async t => {
  const chunks = [
    chunk({ role: 'assistant', content: 'Hel' }),
    chunk({ content: 'lo' }),
    chunk({}, { finish_reason: 'stop' })
  ]
  t.match(await joinDeltas(chunks), {
    object: 'chat.completion',
    choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }]
  })
  t.match(await joinDeltas([...chunks.slice(0, 1), { error: { code: 'timeout' } }]), [
    { choices: [{ message: { content: 'Hel' } }] },
    { error: { code: 'timeout' } }
  ])
})

t.test('deltas of each part of a message are joined, and nothing else is lost', async t => {
  const delta = (index: number, delta: object): object => ({ type: 'content_block_delta', index, delta })
  t.same(
    await joinDeltas([
      { type: 'message_start', message: { role: 'assistant', content: [] } },
      delta(0, { type: 'thinking_delta', thinking: 'a' }),
      delta(0, { type: 'thinking_delta', thinking: 'b' }),
      delta(0, { type: 'signature_delta', signature: 's' }),
      delta(1, { type: 'input_json_delta', partial_json: '{"x"' }),
      delta(2, { type: 'text_delta', text: 'other' }),
      delta(1, { type: 'input_json_delta', partial_json: ':1}' }),
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 3 }
      },
      { type: 'message_stop' }
    ]),
    [
      { type: 'message_start', message: { role: 'assistant', content: [] } },
      delta(0, { type: 'thinking_delta', thinking: 'ab' }),
      delta(0, { type: 'signature_delta', signature: 's' }),
      delta(1, { type: 'input_json_delta', partial_json: '{"x":1}' }),
      delta(2, { type: 'text_delta', text: 'other' }),
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 3 }
      },
      { type: 'message_stop' }
    ]
  )
})

t.test('the last event of a response is kept; without it the deltas of each item are joined', async t => {
  const delta = (item: string, delta: string, sequence: number): object => ({
    type: 'response.output_text.delta',
    item_id: item,
    output_index: 0,
    content_index: 0,
    delta,
    sequence_number: sequence
  })
  const events = [
    { type: 'response.created', response: { id: 'r' } },
    delta('a', 'Hel', 1),
    delta('b', '!', 2),
    delta('a', 'lo', 3)
  ]
  t.same(await joinDeltas(events), [events[0], delta('a', 'Hello', 1), delta('b', '!', 2)])
  t.same(await joinDeltas([...events, { type: 'response.completed', response: { id: 'r', output: [] } }]), {
    id: 'r',
    output: []
  })
})

t.test('text completions are joined by choice', async t => {
  const piece = (index: number, text: string, finish: string | null = null): object => ({
    object: 'text_completion',
    choices: [{ index, text, finish_reason: finish }]
  })
  t.same(await joinDeltas([piece(0, 'a'), piece(1, 'x'), piece(0, 'b'), piece(0, '', 'stop')]), [
    piece(0, 'ab'),
    piece(1, 'x'),
    piece(0, '', 'stop')
  ])
})

t.test('a `delta` array in an unknown event is not searched', async t => {
  const event = { type: 'x', delta: Array.from({ length: 100_000 }, () => ({ text: 'a' })) }
  t.same(await joinDeltas([event, event]), [event, event])
})

t.test('an event whose index is not a number is kept too', async t => {
  const index = { toString: 1 }
  const event = { type: 'content_block_delta', index, delta: { type: 'text_delta', text: 'a' } }
  t.same(await joinDeltas([event]), [event])
})
