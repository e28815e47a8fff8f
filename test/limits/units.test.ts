import t from 'tap'
import { recordedUsages, usedIn } from '../../lib/limits/units.ts'
import { usageRowOf } from '../support/usage.ts'
import type { ApiKey } from '../../lib/core/key.ts'

t.test('what a call used is read from its record', async t => {
  t.match(usedIn(usageRowOf(0, { prompt_tokens: 5, completion_tokens: 7, cost_nano_usd: 9, attempts: 3 })), { requests: 2, tokens: 12, calls: 0, nanoUsd: 9 })
  t.match(usedIn(usageRowOf(0, { prompt_tokens: null, completion_tokens: null, cost_nano_usd: null, attempts: 0 })), { requests: 0, tokens: 0, nanoUsd: 0 })
})

t.test('records say in which accounts their calls counted, unless their key is gone', async t => {
  const key: ApiKey = { id: 'key-1', name: 'one', limits: { budget: { usd: 1, per: 'day' } }, project: { id: 'p', name: 'p', limits: { imagesPerDay: 3 } } }
  const rows = [usageRowOf(1, { key_id: 'key-1', cost_nano_usd: 9 }), usageRowOf(2, { key_id: 'gone' })]
  t.match(recordedUsages(rows, id => id === key.id ? key : undefined, undefined), [
    { row: { id: 'row-1' }, used: { nanoUsd: 9 }, accounts: [{ partyId: 'key-1', unit: 'nanoUsd' }, { partyId: 'p', unit: 'images' }] }
  ])
})
