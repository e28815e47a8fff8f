import t from 'tap'
import {
  amountToReserve,
  requestedOfSum,
  sumRefusal,
  recordedUsages,
  releasedChange,
  settledChange,
  usedIn
} from '../../lib/limits/reservation.ts'
import type { RateOrConcurrencyAccount, SumAccount } from '../../lib/limits/call-accounts.ts'
import { NamedBudgets } from '../../lib/limits/named-budgets.ts'
import { settings } from '../support/settings.ts'
import { usageRowOf } from '../support/usage.ts'
import type { ApiKey } from '../../lib/core/key.ts'

const party = { kind: 'key', id: 'key-1' } as const
const budget: SumAccount = {
  party,
  counting: 'sum',
  unit: 'nanoUsd',
  limitName: 'budget',
  name: 'budget',
  window: { per: 'day' },
  max: 1000,
  strict: true
}
const requests: RateOrConcurrencyAccount = {
  party, counting: 'rate', unit: 'requests', limitName: 'requests_per_minute', max: 60
}
const tokens: RateOrConcurrencyAccount = {
  party, counting: 'rate', unit: 'tokens', limitName: 'tokens_per_minute', max: 100
}
const open: RateOrConcurrencyAccount = {
  party, counting: 'open', unit: 'calls', limitName: 'concurrent_calls', max: 4
}

t.test('a strict budget reserves between minimum and maximum, others the usual amount', async t => {
  const wanted = { nanoUsd: { max: 500, min: 20, typical: 90 } }
  t.strictSame(requestedOfSum(budget, wanted), { max: 500, min: 20 })
  t.strictSame(requestedOfSum({ ...budget, strict: false }, wanted), { max: 90, min: 90 })
  const all = requestedOfSum(budget, { nanoUsd: { max: 500 } })
  t.strictSame(all, { max: 500, min: 500 }, 'all or nothing')
  t.equal(amountToReserve(budget, wanted, { nanoUsd: 120 }), 120)
  t.equal(amountToReserve({ ...budget, strict: false }, wanted, { nanoUsd: 120 }), 90)
})

t.test('a call counts as one request and one open call, unless admitted earlier', async t => {
  const wanted = { tokens: { max: 5000 } }
  const accounts = [requests, tokens, open]
  t.strictSame(accounts.map(account => amountToReserve(account, wanted, {})), [1, 100, 1])
  t.strictSame(accounts.map(account => amountToReserve(account, wanted, {}, 'count')), [0, 100, 0])
})

t.test("a sum's refusal says whether a retry may succeed, and when its window ends", async t => {
  const endless = { endMs: Infinity }
  t.strictSame(sumRefusal('budget', 'exhausted', endless), { reason: 'budget', waitMs: 0 })
  t.strictSame(sumRefusal('images', 'too_small', endless), { reason: 'images_too_small', waitMs: 0 })
  t.strictSame(sumRefusal('images', 'reserved', { endMs: 5 }), {
    reason: 'images_reserved', waitMs: 1000, endMs: 5
  })
})

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
          { party: { id: 'key-1' }, unit: 'nanoUsd' },
          { party: { id: 'p' }, unit: 'images' }
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
    [{ accounts: [{ party: { kind: 'tag', id: 'nightly' }, max: 2e9 }] }]
  )
})
