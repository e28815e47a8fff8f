import t from 'tap'
import { openReasoning, sealReasoning } from '../../../lib/dialects/responses/reasoning-state.ts'

const state = {
  model: 'one/m',
  blocks: [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'redacted_thinking', data: 'x' }
  ],
  callFields: { extra: { a: 1 } }
} as const

t.test('sealed state is restored unchanged', async t => {
  t.strictSame(openReasoning(sealReasoning(state)), state)
  t.strictSame(openReasoning(sealReasoning({ model: 'one/m' })), { model: 'one/m' })
})

t.test('foreign or modified state is ignored', async t => {
  const sealed = (value: unknown): string =>
    `hg1.${Buffer.from(JSON.stringify(value)).toString('base64url')}`
  for (const text of [
    'gAAAAABn',
    '',
    'hg1.',
    'hg1.%%%',
    sealed([]),
    sealed({ blocks: [] }),
    sealed({ model: 7 }),
    sealReasoning(state).slice(0, 30)
  ]) {
    t.equal(openReasoning(text), undefined, text)
  }
  t.strictSame(
    openReasoning(
      sealed({
        model: 'one/m',
        blocks: [{ type: 'thinking' }, { type: 'text', text: 'a' }, 7],
        callFields: []
      })
    ),
    { model: 'one/m' },
    'malformed blocks are left out'
  )
})
