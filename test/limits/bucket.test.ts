import fc from 'fast-check'
import t from 'tap'
import { fullInMs, fullBucket, remaining, take, waitMs, type Bucket } from '../../lib/limits/bucket.ts'
import { holds } from '../support/property.ts'

t.test("a bucket never gives more than one minute's worth plus the refill", async t => {
  const wish = fc.record({
    afterMs: fc.integer({ min: 0, max: 30_000 }),
    amount: fc.integer({ min: 1, max: 20 })
  })
  holds(
    t,
    fc.property(
      fc.integer({ min: 1, max: 97 }),
      fc.array(wish, { minLength: 1, maxLength: 60 }),
      (limit, wishes) => {
        let bucket: Bucket = fullBucket
        let nowMs = 1_763_686_800_000
        const taken: Array<{ atMs: number, amount: number }> = []
        for (const { afterMs, amount } of wishes) {
          nowMs += afterMs
          const wait = waitMs(bucket, limit, amount, nowMs)
          if (wait > 0) {
            // it must be enough
            if (amount <= limit && waitMs(bucket, limit, amount, nowMs + wait) > 0) return false
            if (waitMs(bucket, limit, amount, nowMs + wait - 1) === 0) return false // and no more than that
            continue
          }
          if (remaining(bucket, limit, nowMs) < amount) return false
          bucket = take(bucket, limit, amount, nowMs)
          taken.push({ atMs: nowMs, amount })
        }
        return taken.every((first, from) => {
          let sum = 0
          return taken.slice(from).every(({ atMs, amount }) => {
            sum += amount
            return sum <= limit + (limit * (atMs - first.atMs)) / 60_000
          })
        })
      }
    ),
    { numRuns: 500 }
  )
})

t.test('returned tokens leave the bucket as if never taken', async t => {
  const before = fc.record({
    limit: fc.integer({ min: 1, max: 997 }),
    owed: fc.nat(1000),
    waitMs: fc.nat(90_000),
    amount: fc.nat(500),
    reservedMs: fc.nat(90_000)
  })
  holds(
    t,
    fc.property(before, ({ limit, owed, waitMs: idleMs, amount, reservedMs }) => {
      const bucket = take(fullBucket, limit, owed, 1000)
      const tookMs = 1000 + idleMs
      const endMs = tookMs + reservedMs
      const back = take(take(bucket, limit, amount, tookMs), limit, -amount, endMs)
      return (
        fullInMs(back, limit, endMs) === fullInMs(bucket, limit, endMs) &&
        remaining(back, limit, endMs) === remaining(bucket, limit, endMs)
      )
    }),
    { numRuns: 500 }
  )
})

t.test('a clock that is set back blocks no key', async t => {
  const bucket = take(fullBucket, 60, 60, 10_000_000)
  t.equal(waitMs(bucket, 60, 1, 5_000_000), 1000)
  const later = take(bucket, 60, 0, 5_000_000)
  t.equal(waitMs(later, 60, 1, 5_001_000), 0)
})
