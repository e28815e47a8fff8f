import t from 'tap'
import { anthropicChat } from '../../../lib/providers/anthropic/index.ts'
import { readResponse, streamOf } from '../../support/adapters.ts'
import { readEvents } from '../../support/read-events.ts'
import { ask } from '../../support/anthropic-answers.ts'

t.test('tool calls end an answer with `tool_calls`, whatever the server says', async t => {
  const content = [{ type: 'tool_use', id: 't1', name: 'f', input: {} }]
  const reasons = { end_turn: 'tool_calls', pause_turn: 'tool_calls', max_tokens: 'length' }
  for (const [stopReason, reason] of Object.entries(reasons)) {
    const events = readResponse(anthropicChat, { type: 'message', content, stop_reason: stopReason }, ask())
    t.match(events.find(({ type }) => type === 'choice-end'), { reason }, stopReason)
  }
})

t.test('an invalid answer is refused', async t => {
  for (const answer of [null, 'text', [], {}, { type: 'message' }, { content: '' }, { content: ['text'] }]) {
    t.throws(() => readResponse(anthropicChat, answer, ask()), {
      code: 'upstream_invalid_response',
      status: 502
    })
  }
  t.match(
    readResponse(anthropicChat, { content: 'text' }, ask())[1],
    { type: 'text-delta', text: 'text' },
    'a text in place of the list'
  )
  t.throws(
    () => readResponse(anthropicChat, { type: 'error', error: { type: 'overloaded_error' } }, ask()),
    { code: 'upstream_overloaded' }
  )
  t.throws(() => readEvents([Buffer.from('data: <html>\n\n')], streamOf(anthropicChat, ask())), {
    code: 'upstream_invalid_response'
  })
})
