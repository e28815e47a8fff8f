import t from 'tap'
import { RateCounters } from '../../lib/limits/rate-counters.ts'
import type { RateOrConcurrencyAccount } from '../../lib/limits/call-accounts.ts'

const requests: RateOrConcurrencyAccount = {
  party: 'key', partyId: 'key-1', counting: 'rate', unit: 'requests', limit: 'requests_per_minute', amount: 2
}
const calls: RateOrConcurrencyAccount = {
  party: 'key', partyId: 'key-1', counting: 'open', unit: 'calls', limit: 'concurrent_calls', amount: 1
}

t.test('a limit per minute refills evenly', async t => {
  const rates = new RateCounters(() => 0)
  t.equal(rates.waitMs(requests, 2, 0), 0)
  rates.add(requests, 2, 0)
  t.equal(rates.waitMs(requests, 1, 0), 30_000)
  t.equal(rates.waitMs(requests, 1, 30_000), 0)
  t.strictSame(
    rates.statusesOf([calls, requests, { ...requests, party: 'project', partyId: 'p', amount: 9 }], 0),
    { requests: { limit: 2, remaining: 0, resetMs: 60_000 } },
    'the first of two parties that have the same limit is described'
  )
})

t.test('an open call takes a slot until it ends', async t => {
  const rates = new RateCounters(() => 0)
  rates.add(calls, 1, 0)
  t.equal(rates.waitMs(calls, 1, 0), 1000)
  t.equal(rates.waitMs({ ...calls, partyId: 'key-2' }, 1, 0), 0)
  rates.add(calls, -1, 0)
  t.equal(rates.waitMs(calls, 1, 0), 0)
  t.equal(rates.size, 0, 'nothing is kept of a party without open calls')
})
