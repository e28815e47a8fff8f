import t from 'tap'
import { toResponse } from '../../../lib/dialects/responses/complete.ts'
import { encodeResponse } from '../../../lib/dialects/responses/encode.ts'
import { batchesOf, responsesStart, streamEvents } from '../../support/responses.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

const start = responsesStart({})
const usage: ChatEvent = { type: 'usage', usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 } }

t.test('a complete answer has its items, its usage and its completion time', async t => {
  const response = toResponse(
    start,
    batchesOf(start, [
      { type: 'text-delta', choice: 0, text: 'Hi' },
      { type: 'choice-end', choice: 0, reason: 'stop' },
      usage
    ])
  )
  t.match(response, {
    status: 'completed', completed_at: Number, incomplete_details: null, usage: { total_tokens: 5 },
    output: [{ type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'Hi' }] }]
  })
})

t.test('an answer says why its tool loop ended, complete and streamed', async t => {
  const stopped = { reason: 'budget', turns: 2 }
  const events: ChatEvent[] = [
    { type: 'extra', scope: 'answer', fields: { tool_loop_stopped: stopped } },
    { type: 'choice-end', choice: 0, reason: 'stop' }
  ]
  t.match(toResponse(start, batchesOf(start, events)), { tool_loop_stopped: stopped })
  t.notOk('tool_loop_stopped' in toResponse(start, batchesOf(start, events.slice(1))))
  const printer = encodeResponse(start)
  t.match(streamEvents(printer.print(events) + printer.end()).at(-1), {
    type: 'response.completed', response: { tool_loop_stopped: stopped }
  })
})

t.test('a truncated answer says why, and has no usage if none is known', async t => {
  const response = toResponse(
    start,
    batchesOf(start, [
      { type: 'text-delta', choice: 0, text: 'Hi' },
      { type: 'choice-end', choice: 0, reason: 'length' }
    ])
  )
  t.match(response, {
    status: 'incomplete',
    completed_at: null,
    incomplete_details: { reason: 'max_output_tokens' },
    usage: null
  })
})
