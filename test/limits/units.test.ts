import t from 'tap'
import { isRecorded, usedIn } from '../../lib/limits/units.ts'
import { usageRowOf } from '../support/usage.ts'

t.test('what a call used is read from its record', async t => {
  t.match(usedIn(usageRowOf(0, { prompt_tokens: 5, completion_tokens: 7, cost_nano_usd: 9, attempts: 3 })), { requests: 2, tokens: 12, calls: 0, nanoUsd: 9 })
  t.match(usedIn(usageRowOf(0, { prompt_tokens: null, completion_tokens: null, cost_nano_usd: null, attempts: 0 })), { requests: 0, tokens: 0, nanoUsd: 0 })
})

t.test('the ledger adds up money and images, and not what is counted per minute', async t => {
  t.same((['nanoUsd', 'images', 'requests', 'tokens', 'calls'] as const).map(isRecorded), [true, true, false, false, false])
})
