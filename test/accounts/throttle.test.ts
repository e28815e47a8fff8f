import t, { type Test } from 'tap'
import type { GatewayError } from '../../lib/core/errors.ts'
import { Throttle } from '../../lib/accounts/throttle.ts'

/** Returns how many attempts are let through, of as many as there are addresses and users. */
function passed (throttle: Throttle, tries: ReadonlyArray<readonly [address: string, user: string]>): number {
  return tries.filter(([address, user]) => {
    try {
      throttle.begin(address, user)
      return true
    } catch {
      return false // refused, which is what is counted
    }
  }).length
}

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

t.test('one user at one address is soon refused, from elsewhere later', async (t: Test) => {
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
    'but there is an end'
  )
})

t.test('an address is refused whichever users it guesses', async t => {
  const throttle = new Throttle()
  t.equal(
    passed(
      throttle,
      times(50).map(index => ['192.0.2.1', `user ${index}`])
    ),
    30
  )
})

t.test('addresses of one IPv6 network are one, and mapped ones their own', async t => {
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

t.test('who succeeds starts again', async t => {
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

t.test('what is refused counts nothing, so that no flood of it forgets what was counted', async t => {
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
    'the rest of its address'
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
    'a refusal is no failure of the user'
  )
})

t.test('attempts of many addresses do not forget the failures of a user', async t => {
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
  'a refusal says how long it lasts, in its sentence and in its header, and lasts no longer',
  async t => {
    let nowMs = 1000
    t.intercept(performance, 'now', { value: () => nowMs })
    const throttle = new Throttle()
    const refusal = (): object => {
      try {
        throttle.begin('192.0.2.1', 'ada')
        return {}
      } catch (error) {
        const { message, retryAfterSeconds } = error as GatewayError // the only error that is thrown
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
