import t from 'tap'
import { toReasoningItem, toThinkingBlock } from '../../lib/chat/reasoning-item.ts'

t.test('a reasoning item comes back from the thinking block that carries it', async t => {
  for (const item of [{ id: 'rs_1', encryptedContent: 'gAAA=:+', text: 'Hm.' }, { id: 'rs_2', encryptedContent: 'gBBB', text: '' }]) {
    t.same(toReasoningItem({ ...toThinkingBlock(item) }), item)
  }
})

t.test('the thinking of another provider is no such item', async t => {
  for (const block of [{ type: 'thinking', thinking: 'a', signature: 'EqQB' }, { type: 'redacted_thinking', data: 'x' }, { type: 'thinking', signature: 'oai1:rs_1' }, {}]) {
    t.equal(toReasoningItem(block), undefined)
  }
})
