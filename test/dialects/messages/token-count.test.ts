import t from 'tap'
import { countOf } from '../../../lib/dialects/messages/token-count.ts'

t.test('a count is rather too high: a margin, what each message adds, and what tools add once', async t => {
  t.strictSame(countOf(100, { messages: [] }), { input_tokens: 120 })
  t.strictSame(countOf(101, { messages: [1, 2] }), { input_tokens: 122 + 8 })
  t.strictSame(countOf(0, { messages: [1], tools: [1, 2] }), { input_tokens: 4 + 350 })
})
