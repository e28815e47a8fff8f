import t from 'tap'
import { stream, eventsOf, finish, stop } from '../../support/anthropic-answers.ts'

t.test('tool calls are counted apart from other blocks', async t => {
  t.strictSame(stream('tools').flatMap(event => event.type === 'tool-call-start' ? [event.call] : []), [0, 1, 2])
})

t.test('a call without arguments has an empty object', async t => {
  t.match(stream('tool-only').find(event => event.type === 'tool-call-delta'), { text: '{}' })
})

t.test('fields of the wrong type in an answer break nothing', async t => {
  const block = (content_block: unknown): object => ({ type: 'content_block_start', index: 0, content_block })
  const delta = (delta: unknown): object => ({ type: 'content_block_delta', index: 0, delta })
  t.doesNotThrow(() => eventsOf(
    { type: 'message_start', message: null }, block(null), delta(null), block({ type: 'text', text: 4, citations: [null, {}] }),
    delta({ type: 'citations_delta' }), delta({ type: 'text_delta' }), delta({ type: 'thinking_delta', thinking: 'lost' }),
    { type: 'content_block_stop' }, block({ type: 'tool_use' }), block({ type: 'tool_use', name: 'f', input: 'x' }),
    delta({ type: 'input_json_delta', partial_json: 7 }), { type: 'message_delta' }, { ...finish, usage: { output_tokens: 'many' } }, stop
  ))
})
