import t from 'tap'
import { CredentialPool } from '../../lib/routing/credential-pool.ts'

t.test('each credential cools down separately, for as long as the provider said', t => {
  let nowMs = 0
  const pool = new CredentialPool([1, 1, 0], () => nowMs, () => 0)
  t.equal(pool.choose('key-1'), 0)
  pool.onFailure(0, { code: 'rate_limit_exceeded', fault: 'rate_limit', retryAfterSeconds: 9 }, 'key-1')
  t.same([pool.choose('key-1'), pool.ready, pool.cooldownMs], [1, 2, 0])
  pool.onFailure(
    1,
    { code: 'upstream_quota_exhausted', fault: 'credential', retryAfterSeconds: undefined },
    'key-1'
  )
  t.same([pool.choose('key-1'), pool.ready], [2, 1], 'weight 0 when no other is ready')
  pool.onFailure(
    2,
    { code: 'rate_limit_exceeded', fault: 'rate_limit', retryAfterSeconds: undefined },
    'key-1'
  )
  t.same(
    [pool.choose('key-1'), pool.ready, pool.cooldownMs],
    [2, 0, 5000],
    'else the one that is ready first'
  )
  t.equal(pool.another(new Set(), 'key-1'), undefined)
  nowMs = 9000
  t.same([pool.another(new Set([2]), 'key-1'), pool.another(new Set([0, 2]), 'key-1')], [0, undefined])
  nowMs = 60_000
  t.equal(pool.ready, 3)
  t.end()
})

t.test('changed weights apply at once, and cooldowns are kept', t => {
  const pool = new CredentialPool([1, 0], () => 0, () => 0)
  pool.onFailure(0, { code: 'rate_limit_exceeded', fault: 'rate_limit', retryAfterSeconds: 9 }, 'key-1')
  pool.weigh([0, 1])
  t.same([pool.choose('key-1'), pool.ready, pool.size], [1, 1, 2])
  t.end()
})

t.test(
  'a rejected credential is paused for the key of the call, and for all keys once another is rejected',
  t => {
    let nowMs = 0
    const pool = new CredentialPool(
      [1, 1],
      () => nowMs,
      () => 0
    )
    const rejected = {
      code: 'upstream_auth_failed',
      fault: 'credential',
      retryAfterSeconds: undefined
    } as const
    for (const place of [0, 1, 0]) {
      t.equal(pool.onFailure(place, rejected, 'key-1'), 0, 'what this key names may be what is rejected')
    }
    t.same(
      [pool.another(new Set(), 'key-1'), pool.choose('key-2'), pool.ready, pool.cooldownMs],
      [undefined, 0, 2, 0]
    )
    t.same(
      ['key-1', 'key-2'].map(key => pool.isReady(0, key)),
      [false, true]
    )
    t.equal(pool.onFailure(0, rejected, 'key-2'), 60_000)
    t.same([pool.choose('key-2'), pool.choose('key-3'), pool.ready, pool.cooldownMs], [1, 1, 1, 0])
    nowMs = 60_000
    t.equal(pool.onFailure(1, rejected, 'key-2'), 0, 'the rejection of the other is over')
    t.same([pool.choose('key-1'), pool.ready], [0, 2])
    t.end()
  }
)
