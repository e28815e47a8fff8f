import t from 'tap'
import { GatewayError, type ErrorCode } from '../../lib/core/errors.ts'
import { AttemptPlan } from '../../lib/attempts/attempt-plan.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { route } from '../support/routes.ts'
import type { Route } from '../../lib/core/route.ts'

const [a, b] = [route('one/a'), route('two/b')]

interface Played { readonly tried: string[], readonly waitedMs: number, readonly skipped: string[] }

/** Follows a plan in which every attempt fails. */
function play (
  routes: readonly Route[],
  state: RoutingState,
  retries: number,
  failure: () => GatewayError
): Played {
  const skipped: string[] = []
  const plan = new AttemptPlan(routes, state, {
    keyId: 'key-1',
    retries: () => retries,
    onSkip: ({ modelId }, why) => skipped.push(`${modelId} ${why}`)
  })
  const tried: string[] = []
  let waitedMs = 0
  for (let planned = plan.first(); planned !== undefined;) {
    tried.push(planned.route.modelId)
    waitedMs += planned.waitMs
    const error = failure()
    const again = plan.reconnect(error)
    if (again === undefined) state.failed(planned.route, state.begin(planned.route, 'key-1'), error)
    planned = again ?? plan.next(error)
  }
  return { tried, waitedMs, skipped }
}

const fails = (code: ErrorCode, retryAfterSeconds?: number) => () =>
  new GatewayError(code, { retryAfterSeconds })
const reset = () => new GatewayError('upstream_unreachable', { staleConnection: true })

/** Health of routes that have answered many calls. */
function healthy (): RoutingState {
  const state = new RoutingState()
  for (let count = 0; count < 100; count++) {
    for (const one of [a, b]) state.succeeded(one, state.begin(one, 'key-1'), false, 1)
  }
  return state
}

t.test('every route is tried once before any is retried', async t => {
  const { tried, waitedMs } = play([a, b], healthy(), 2, fails('upstream_error'))
  t.same(tried.slice(0, 2), ['one/a', 'two/b'])
  t.same(tried.toSorted(), ['one/a', 'one/a', 'one/a', 'two/b', 'two/b', 'two/b'])
  t.ok(waitedMs >= 2 * 187 + 2 * 375 && waitedMs <= 2 * 250 + 2 * 500, `${waitedMs} ms`)
})

t.test('only transient failures are retried', async t => {
  t.same(play([a, b], healthy(), 2, fails('upstream_auth_failed')).tried, ['one/a', 'two/b'])
  t.same(play([a], healthy(), 2, fails('model_not_found')).tried, ['one/a'])
  t.equal(play([a], healthy(), 2, fails('rate_limit_exceeded')).tried.length, 3)
})

t.test('a call makes at most 16 attempts', async t => {
  const routes = Array.from({ length: 9 }, (_, index) => route(`one/${index}`))
  t.equal(play(routes, healthy(), 10, fails('upstream_error')).tried.length, 16)
})

t.test('the total wait of a call is limited', async t => {
  t.ok(play([a], healthy(), 10, fails('upstream_error')).waitedMs <= 20_000)
  const patient = play([a], healthy(), 10, fails('rate_limit_exceeded', 8))
  t.equal(patient.tried.length, 3, 'two waits of 8 s, not three')
  t.ok(patient.waitedMs <= 20_000)
  t.equal(play([a], healthy(), 10, fails('rate_limit_exceeded', 21)).tried.length, 1)
})

t.test('a stale socket is replaced at once, and is neither a failure nor a retry', async t => {
  const state = healthy()
  const plan = new AttemptPlan([a], state, {
    keyId: 'key-1',
    retries: () => 0,
    onSkip: () => t.fail('nothing is skipped')
  })
  plan.first()
  t.same(plan.reconnect(reset()), { route: a, waitMs: 0, isRetry: false })
  t.equal(plan.reconnect(reset()), undefined, 'once per model')
  t.same([...state.circuits()], [], 'nothing is recorded')
  const plain = new AttemptPlan([a], healthy(), { keyId: 'key-1', retries: () => 0, onSkip: () => undefined })
  plain.first()
  t.equal(plain.reconnect(fails('upstream_unreachable')()), undefined)
  t.equal(plain.reconnect(fails('upstream_error')()), undefined)

  const fresh = new AttemptPlan([a], new RoutingState(), {
    keyId: 'key-1',
    retries: () => 0,
    onSkip: () => undefined
  })
  fresh.first()
  t.equal(fresh.reconnect(reset()), undefined, 'without an earlier answer, no socket was kept alive')
})

t.test('a provider that always fails gets only the first attempt of each call', async t => {
  const state = new RoutingState()
  let requests = 0
  for (let call = 0; call < 100; call++) {
    requests += play([a, b], state, 2, fails('upstream_error')).tried.length
  }
  t.ok(requests <= 120, `${requests} requests of 100 calls`)
  const { tried, skipped } = play([a, b], state, 2, fails('upstream_error'))
  t.same(tried, ['one/a'])
  t.same(skipped, ['two/b retry_budget_exhausted'])
  t.same(
    play([a, b], state, 2, fails('upstream_auth_failed')).tried,
    ['one/a', 'two/b'],
    'a rejected credential is not an overload'
  )
})

t.test('a hedge, as any first attempt, uses the credential that the call is bound to', async t => {
  const state = new RoutingState()
  for (const providerId of ['one', 'two']) state.addCredentials(providerId, [1, 1, 1, 1])
  for (const bound of [0, 1, 2, 3]) {
    const plan = new AttemptPlan([a, b], state, {
      keyId: 'key-1', retries: () => 0, onSkip: () => undefined, credentialIndex: () => bound
    })
    t.equal(plan.first()?.credentialIndex, bound)
    t.equal(plan.hedge()?.credentialIndex, bound)
  }
})
