import t from 'tap'
import { keptLength } from '../../../lib/dialects/responses/kept-length.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

t.test('the kept length of an event is computed from its texts and log probabilities', async t => {
  const text = (...content: object[]): ChatEvent => ({
    type: 'text-delta',
    choice: 0,
    text: 'four',
    logprobs: { content }
  })
  t.equal(keptLength(text()), 4)
  const few = keptLength(text({ token: 'four' }))
  const many = keptLength(
    text({ token: 'four', top_logprobs: Array.from({ length: 20 }, () => ({ token: 'x' })) })
  )
  t.ok(few > 4)
  t.equal(many - 4, 21 * (few - 4))
  t.equal(
    keptLength({ type: 'annotation-delta', choice: 0, annotations: [{ type: 'x' }] }),
    '[{"type":"x"}]'.length
  )
  t.equal(keptLength({ type: 'tool-call-end', choice: 0, callIndex: 0 }), 0)
})
