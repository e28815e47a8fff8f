import t from 'tap'
import { CredentialPool } from '../../lib/routing/credential-pool.ts'

t.test('each credential cools down by itself, for as long as the provider said', t => {
  let nowMs = 0
  const pool = new CredentialPool([1, 1, 0], () => nowMs, () => 0)
  t.equal(pool.choose(), 0)
  pool.onFailure(0, { fault: 'rate_limit', retryAfterSeconds: 9 })
  t.same([pool.choose(), pool.ready, pool.cooldownMs], [1, 2, 0])
  pool.onFailure(1, { fault: 'credential', retryAfterSeconds: undefined })
  t.same([pool.choose(), pool.ready], [2, 1], 'weight 0 when no other is ready')
  pool.onFailure(2, { fault: 'rate_limit', retryAfterSeconds: undefined })
  t.same([pool.choose(), pool.ready, pool.cooldownMs], [2, 0, 5000], 'else the one that is ready first')
  t.equal(pool.another(new Set()), undefined)
  nowMs = 9000
  t.same([pool.another(new Set([2])), pool.another(new Set([0, 2]))], [0, undefined])
  nowMs = 60_000
  t.equal(pool.ready, 3)
  t.end()
})

t.test('other weights count at once, and cooldowns stay', t => {
  const pool = new CredentialPool([1, 0], () => 0, () => 0)
  pool.onFailure(0, { fault: 'rate_limit', retryAfterSeconds: 9 })
  pool.weigh([0, 1])
  t.same([pool.choose(), pool.ready, pool.size], [1, 1, 2])
  t.end()
})
