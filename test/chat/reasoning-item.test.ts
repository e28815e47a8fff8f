import t from 'tap'
import { toReasoningItem, toThinkingBlock } from '../../lib/chat/reasoning-item.ts'

t.test('a reasoning item comes back from the thinking block that carries it', async t => {
  t.same(toReasoningItem({ ...toThinkingBlock('rs_1', 'gAAA=:+', 'Hm.') }), {
    type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gAAA=:+'
  })
  t.same(toReasoningItem({ ...toThinkingBlock('rs_2', 'gBBB', '') }), { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gBBB' })
})

t.test('the thinking of another provider is no such item', async t => {
  for (const block of [{ type: 'thinking', thinking: 'a', signature: 'EqQB' }, { type: 'redacted_thinking', data: 'x' }, { type: 'thinking', signature: 'oai1:rs_1' }, {}]) {
    t.equal(toReasoningItem(block), undefined)
  }
})
