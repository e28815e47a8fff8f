import t from 'tap'
import { NamedBudgets } from '../../lib/limits/named-budgets.ts'
import { recordedUsages, releasedChange, settledChange, usedIn } from '../../lib/limits/settlement.ts'
import { settings } from '../support/settings.ts'
import { usageRowOf } from '../support/usage.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { RateOrConcurrencyAccount } from '../../lib/limits/call-accounts.ts'

const party = { party: 'key', partyId: 'key-1' } as const
const requests: RateOrConcurrencyAccount = {
  ...party, counting: 'rate', unit: 'requests', limitName: 'requests_per_minute', max: 60
}
const tokens: RateOrConcurrencyAccount = {
  ...party, counting: 'rate', unit: 'tokens', limitName: 'tokens_per_minute', max: 100
}
const open: RateOrConcurrencyAccount = {
  ...party, counting: 'open', unit: 'calls', limitName: 'concurrent_calls', max: 4
}

t.test('a call that ends returns its unused tokens and its slot', async t => {
  t.equal(settledChange(tokens, 100, { tokens: 30 }), -70)
  t.equal(settledChange(requests, 1, { requests: 2 }), 2, 'with its retries')
  t.equal(settledChange(open, 1, {}), -1)
})

t.test('a call of an exited process was a request and has used nothing else', async t => {
  t.strictSame([requests, tokens, open].map(account => releasedChange(account, 1)), [0, -1, -1])
})

t.test('what a call used is read from its row', async t => {
  t.match(usedIn(usageRowOf(0, { prompt_tokens: 5, completion_tokens: 7, cost_nano_usd: 9, attempts: 3 })), {
    requests: 2,
    tokens: 12,
    calls: 0,
    nanoUsd: 9
  })
  t.match(
    usedIn(
      usageRowOf(0, { prompt_tokens: null, completion_tokens: null, cost_nano_usd: null, attempts: 0 })
    ),
    { requests: 0, tokens: 0, nanoUsd: 0 }
  )
})

t.test('records name the accounts of their calls, unless their key is gone', async t => {
  const key: ApiKey = {
    id: 'key-1',
    name: 'one',
    limits: { budget: { usd: 1, per: 'day' } },
    project: { id: 'p', name: 'p', limits: { imagesPerDay: 3 } }
  }
  const rows = [usageRowOf(1, { key_id: 'key-1', cost_nano_usd: 9 }), usageRowOf(2, { key_id: 'gone' })]
  t.match(
    recordedUsages(rows, id => (id === key.id ? key : undefined), undefined),
    [
      {
        row: { id: 'row-1' },
        used: { nanoUsd: 9 },
        accounts: [
          { partyId: 'key-1', unit: 'nanoUsd' },
          { partyId: 'p', unit: 'images' }
        ]
      }
    ]
  )
})

t.test('limits may count any billed unit in place of tokens, by its column', async t => {
  t.match(usedIn(usageRowOf(0, { images: 2, pages: 3, audio_ms: 1500, characters: 4 })), {
    images: 2,
    pages: 3,
    audio_ms: 1500,
    characters: 4
  })
})

t.test('a record also counts for the parties that it names, if they have budgets', async t => {
  const { limits, ...others } = settings()
  const named = new NamedBudgets(
    { ...others, limits: { ...limits, tags: [{ tag: 'nightly', budget: { usd: 2, per: 'day' } }] } },
    { secret: Buffer.alloc(32) }
  )
  const rows = [usageRowOf(1, { parties: '["tag:nightly","tag:gone","end_user:p/x"]' })]
  t.match(
    recordedUsages(rows, id => ({ id, name: id }), undefined, named),
    [{ accounts: [{ party: 'tag', partyId: 'nightly', max: 2e9 }] }]
  )
})
