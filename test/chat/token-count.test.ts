import t from 'tap'
import { countOf } from '../../lib/chat/token-count.ts'

t.test('an estimate is rather too high: a margin, an overhead per message, and one for tools', async t => {
  t.equal(countOf(100, { messages: [] }), 120)
  t.equal(countOf(101, { messages: [1, 2] }), 122 + 8)
  t.equal(countOf(0, { messages: [1], tools: [1, 2] }), 4 + 350)
})
