import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { ExtraRequestBudget, RetryBudget } from '../../lib/routing/request-budgets.ts'
import { clock } from '../support/routes.ts'

t.test("a retry budget remembers the provider's wait, whether or not it is retried", async t => {
  const { now, pass } = clock()
  const budget = new RetryBudget(now)
  budget.onFailure(new GatewayError('rate_limit_exceeded'))
  t.equal(budget.cooldownMs, 0)
  budget.onFailure(new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 7 }))
  budget.onFailure(new GatewayError('upstream_overloaded', { retryAfterSeconds: 2 }))
  t.equal(budget.cooldownMs, 7000, 'the longest counts')
  pass(7000)
  t.equal(budget.cooldownMs, 0)
  budget.onFailure(new GatewayError('upstream_quota_exhausted'))
  t.equal(budget.cooldownMs, 60_000, 'a quota is not back at once')
})

t.test('attempts are free at first, then earned by answers and lost by failures', async t => {
  const { now } = clock()
  const budget = new RetryBudget(now)
  const takeAll = (): number => {
    let taken = 0
    while (taken < 1000 && budget.take()) taken++
    return taken
  }
  t.equal(takeAll(), 10)
  budget.onAnswer()
  t.equal(takeAll(), 3)
  for (let count = 0; count < 4; count++) budget.onAnswer()
  for (const code of ['upstream_error', 'rate_limit_exceeded', 'invalid_value', 'model_not_found'] as const) {
    budget.onFailure(new GatewayError(code))
  }
  t.equal(takeAll(), 10, 'mistakes of callers lose none')
  for (let count = 0; count < 1000; count++) budget.onAnswer()
  t.equal(takeAll(), 200, 'no more than so many are saved')
})

t.test('a provider that was not called for a minute may be tried once', async t => {
  const { now, pass } = clock()
  const budget = new RetryBudget(now)
  for (let number = 0; number < 1000 && budget.take(); number++) pass(1)
  pass(59_999)
  t.equal(budget.take(), false, 'the last attempt was a minute ago')
  pass(1)
  t.equal(budget.take(), true)
  t.equal(budget.take(), false)
})

t.test('a failure of one of several credentials does not affect the others', async t => {
  const budget = new RetryBudget(clock().now)
  budget.onFailure(new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 7 }), false)
  t.equal(budget.cooldownMs, 0)
})

t.test('stale sockets are retried only as often as answers left one open', async t => {
  const budget = new RetryBudget(clock().now)
  const stale = new GatewayError('upstream_unreachable', { staleConnection: true })
  t.equal(budget.takeStaleSocket(stale), false, 'there was none')
  budget.onAnswer()
  t.equal(budget.takeStaleSocket(new GatewayError('upstream_unreachable')), false)
  t.equal(budget.takeStaleSocket(stale), true)
  t.equal(budget.takeStaleSocket(stale), false)
})

t.test('one extra request is free, then twenty calls earn one, and at most ten are saved', async t => {
  const budget = new ExtraRequestBudget()
  t.same([budget.take(), budget.take()], [true, false])
  for (let call = 0; call < 19; call++) budget.onCall()
  t.equal(budget.take(), false)
  for (let call = 0; call < 2; call++) budget.onCall()
  t.equal(budget.take(), true)
  for (let call = 0; call < 10_000; call++) budget.onCall()
  let taken = 0
  while (taken < 1000 && budget.take()) taken++
  t.equal(taken, 10)
})
