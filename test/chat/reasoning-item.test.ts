import t from 'tap'
import {
  contentFor,
  splitContent,
  labelContent,
  labelContents,
  toReasoningItem,
  toThinkingBlock
} from '../../lib/chat/reasoning-item.ts'

t.test('a reasoning item is restored from the thinking block that carries it', async t => {
  t.same(toReasoningItem({ ...toThinkingBlock('rs_1', 'gAAA=:+', 'Hm.') }), {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'Hm.' }],
    encrypted_content: 'gAAA=:+'
  })
  t.same(toReasoningItem({ ...toThinkingBlock('rs_2', 'gBBB', '') }), {
    type: 'reasoning',
    id: 'rs_2',
    summary: [],
    encrypted_content: 'gBBB'
  })
})

t.test('thinking of another provider is not a reasoning item', async t => {
  for (const block of [
    { type: 'thinking', thinking: 'a', signature: 'EqQB' },
    { type: 'redacted_thinking', data: 'x' },
    { type: 'thinking', signature: 'oai1:rs_1' },
    {}
  ]) {
    t.equal(toReasoningItem(block), undefined)
  }
})

t.test('an item whose id was removed by the caller is restored without one', async t => {
  t.same(toReasoningItem({ ...toThinkingBlock('', 'gAAA', '') }), {
    type: 'reasoning',
    summary: [],
    encrypted_content: 'gAAA'
  })
})

t.test('labelled content is only for the account that made it; unlabelled content is for any', async t => {
  const labelled = labelContent('g.A=A', 'a1')
  t.same(splitContent(labelled), { account: 'a1', content: 'g.A=A' })
  t.equal(contentFor(labelled, () => 'a1'), 'g.A=A')
  t.equal(contentFor(labelled, () => 'a2'), undefined)
  t.equal(contentFor(labelled, undefined), undefined, 'an unknown account counts as different')
  for (const content of ['gAAA', 'hga1.cut off', '']) t.equal(contentFor(content, () => 'a1'), content)
})

t.test('encrypted content in an answer is labelled, and similar-looking text is not', async t => {
  const said = JSON.stringify({ text: '"encrypted_content":"x"' })
  const [before, after] = ['gAAA', labelContent('gAAA', 'a1')].map(
    content =>
      `{"a":{"encrypted_content" : "${content}"},"b":[${said},{"encrypted_content":""},{"encrypted_content":null}]}`
  )
  t.equal(labelContents(before ?? '', 'a1'), after)
})
