import t from 'tap'
import { toResponse } from '../../../lib/dialects/responses/complete.ts'
import { batchesOf, responsesStart } from '../../support/responses.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

const start = responsesStart({})
const usage: ChatEvent = { type: 'usage', usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 } }

t.test('a complete answer has its items, its usage and the time of its end', async t => {
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

t.test('one that was cut short says why, and has no usage where none is known', async t => {
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
