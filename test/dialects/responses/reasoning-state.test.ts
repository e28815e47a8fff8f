import t from 'tap'
import { unpackReasoning, packReasoning } from '../../../lib/dialects/responses/reasoning-state.ts'

const state = {
  model: 'one/m',
  blocks: [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'redacted_thinking', data: 'x' }
  ],
  callFields: { extra: { a: 1 } }
} as const

t.test('packed state is restored unchanged', async t => {
  t.strictSame(unpackReasoning(packReasoning(state)), state)
  t.strictSame(unpackReasoning(packReasoning({ model: 'one/m' })), { model: 'one/m' })
})

t.test('foreign or modified state is ignored', async t => {
  const packed = (value: unknown): string =>
    `hg1.${Buffer.from(JSON.stringify(value)).toString('base64url')}`
  for (const text of [
    'gAAAAABn',
    '',
    'hg1.',
    'hg1.%%%',
    packed([]),
    packed({ blocks: [] }),
    packed({ model: 7 }),
    packReasoning(state).slice(0, 30)
  ]) {
    t.equal(unpackReasoning(text), undefined, text)
  }
  t.strictSame(
    unpackReasoning(
      packed({
        model: 'one/m',
        blocks: [{ type: 'thinking' }, { type: 'text', text: 'a' }, 7],
        callFields: []
      })
    ),
    { model: 'one/m' },
    'malformed blocks are left out'
  )
})
