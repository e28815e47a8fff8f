import t, { type Test } from 'tap'
import type { GatewayError } from '../../lib/core/errors.ts'
import { FailureQuota, Throttle } from '../../lib/accounts/throttle.ts'

/** Returns how many of the attempts are let through. */
function passed (throttle: Throttle, tries: ReadonlyArray<readonly [address: string, user: string]>): number {
  return tries.filter(([address, user]) => {
    try {
      throttle.begin(address, user)
      return true
    } catch {
      return false // a refusal is what the caller counts
    }
  }).length
}

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

t.test('a user is soon refused from one address, and only later from all others', async (t: Test) => {
  const throttle = new Throttle()
  t.equal(
    passed(
      throttle,
      times(9).map(() => ['192.0.2.1', 'ada'])
    ),
    5
  )
  t.equal(passed(throttle, [['192.0.2.2', 'ada']]), 1, 'the user is not locked out')
  t.equal(
    passed(
      throttle,
      times(200).map(index => [`198.51.100.${index}`, 'ada'])
    ),
    94,
    'but the total is limited'
  )
})

t.test('an address is refused however many different users it tries', async t => {
  const throttle = new Throttle()
  t.equal(
    passed(
      throttle,
      times(50).map(index => ['192.0.2.1', `user ${index}`])
    ),
    30
  )
})

t.test('addresses of one IPv6 /64 network count as one', async t => {
  const throttle = new Throttle()
  t.equal(
    passed(
      throttle,
      times(9).map(index => [`2001:db8:1:2::${index}`, 'ada'])
    ),
    5
  )
  t.equal(
    passed(throttle, [
      ['2001:db8:1:2:3:4:5:6', 'ada'],
      ['2001:db8:1:3::1', 'ada']
    ]),
    1
  )
})

t.test('a successful sign-in clears the failures of that user and address', async t => {
  const throttle = new Throttle()
  for (const _ of times(20)) {
    throttle.begin('192.0.2.1', 'ada')
    throttle.begin('192.0.2.1', 'ada')
    throttle.succeeded('192.0.2.1', 'ada')
  }
  t.throws(
    () => {
      for (const _ of times(40)) throttle.begin('192.0.2.1', 'bob')
    },
    { code: 'rate_limit_exceeded' }
  )
})

t.test('refused attempts are not counted, so flooding cannot evict what was counted', async t => {
  const throttle = new Throttle()
  t.equal(
    passed(
      throttle,
      times(9).map(() => ['192.0.2.1', 'ada'])
    ),
    5
  )
  t.equal(
    passed(
      throttle,
      times(30_000).map(index => ['192.0.2.1', `user ${index}`])
    ),
    25,
    'the remaining quota of the address'
  )
  t.equal(
    passed(throttle, [
      ['192.0.2.1', 'ada'],
      ['192.0.2.1', 'bob']
    ]),
    0
  )
  t.equal(
    passed(
      throttle,
      times(100).map(() => ['192.0.2.2', 'ada'])
    ),
    5
  )
  t.equal(
    passed(
      throttle,
      times(200).map(index => [`198.51.100.${index}`, 'ada'])
    ),
    90,
    'a refusal does not count against the user'
  )
})

t.test('attempts from many addresses do not evict the failures of a user', async t => {
  const throttle = new Throttle()
  t.equal(
    passed(
      throttle,
      times(100).map(index => [`192.0.2.${index}`, 'ada'])
    ),
    100
  )
  t.equal(
    passed(
      throttle,
      times(12_000).map(index => [`10.0.${index >> 8}.${index & 255}`, ''])
    ),
    12_000
  )
  t.equal(passed(throttle, [['198.51.100.1', 'ada']]), 0)
})

t.test(
  'a refusal states its duration in the message and the header, and ends on time',
  async t => {
    let nowMs = 1000
    t.intercept(performance, 'now', { value: () => nowMs })
    const throttle = new Throttle()
    const refusal = (): object => {
      try {
        throttle.begin('192.0.2.1', 'ada')
        return {}
      } catch (error) {
        const { message, retryAfterSeconds } = error as GatewayError // the only error it throws
        return { message, retryAfterSeconds }
      }
    }
    for (const _ of times(5)) throttle.begin('192.0.2.1', 'ada')
    t.same(refusal(), {
      message: 'Too many sign-in attempts. Try again in 15 minutes.',
      retryAfterSeconds: 900
    })
    nowMs += 14.5 * 60_000
    t.same(refusal(), {
      message: 'Too many sign-in attempts. Try again in 1 minute.',
      retryAfterSeconds: 30
    })
    nowMs += 30_000
    t.same(refusal(), {})
  }
)

t.test('at most a hundred failures are recorded per quarter of an hour', async t => {
  const quota = new FailureQuota()
  const noted = (count: number, nowMs: number): number =>
    Array.from({ length: count }, () => quota.take(nowMs)).filter(Boolean).length
  t.equal(noted(60, 1000), 60)
  t.equal(noted(1000, 2000), 40)
  t.equal(noted(10, 1000 + 15 * 60_000 - 1), 0)
  t.equal(noted(1000, 1000 + 15 * 60_000), 100)
})
