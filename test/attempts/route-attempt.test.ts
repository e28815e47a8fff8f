import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { Secret } from '../../lib/core/secret.ts'
import { recordUnusedRoute, RouteAttempt } from '../../lib/attempts/route-attempt.ts'
import { ProviderFailure } from '../../lib/providers/provider-failure.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { route } from '../support/routes.ts'
import { provider } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'

const chosen = route('one/a', { by: 'load' })

function start () {
  const state = new RoutingState(() => 0)
  const call = routedCall({})
  return {
    state,
    record: call.record,
    begin: () => new RouteAttempt(
      call, provider('one'), { route: chosen, credentialIndex: undefined }, state
    )
  }
}

t.test('an attempt counts as waiting until it has ended', async t => {
  const { state, begin } = start()
  const attempt = begin()
  t.equal(state.waiting('one/a'), 1)
  attempt.recordSuccess()
  attempt.release()
  t.equal(state.waiting('one/a'), 0)
  t.type(state.latencies(false).of('one/a'), 'number')
})

t.test('a failure counts against its route and is recorded in the call', async t => {
  const { state, record, begin } = start()
  for (let count = 0; count < 5; count++) {
    const attempt = begin()
    attempt.recordFailure(attempt.recordError(new GatewayError('upstream_error')))
    attempt.recordLostRace()
    attempt.release()
  }
  t.match(state.cooldown(chosen, 'key-1'), { reason: 'circuit_open' })
  t.same(
    record.routing.unusedRoutes?.map(({ route, reason }) => [route.modelId, reason]),
    Array.from({ length: 5 }, () => ['one/a', 'upstream_error']),
    'a request that failed is not counted as slow as well'
  )
})

t.test('usage that a failed request reports is recorded as wasted', async t => {
  const { record, begin } = start()
  const usage = { promptTokens: 2, completionTokens: 3, totalTokens: 5 }
  const error = new GatewayError('upstream_stream_interrupted', { usage })
  const attempt = begin()
  attempt.recordFailure(attempt.recordError(error.with({ message: 'cut' })))
  attempt.release()
  t.same(record.usage.wasted, [{ modelId: 'one/a', usage }])
})

t.test('a request that lost to another is not a failure of its route', async t => {
  const { state, record, begin } = start()
  begin().recordLostRace()
  t.same(record.routing.unusedRoutes?.map(({ reason }) => reason), ['slower'])
  t.same([...state.circuits()], [])
})

t.test('failure reasons are recorded in order', async t => {
  const call = routedCall({})
  recordUnusedRoute(call, route('one/a'), 'rate_limited')
  recordUnusedRoute(call, route('two/b'), 'circuit_open')
  t.same(
    call.record.routing.unusedRoutes?.map(({ route, reason }) => [route.modelId, reason]),
    [
      ['one/a', 'rate_limited'],
      ['two/b', 'circuit_open']
    ]
  )
})

t.test('the error for a rejected credential names its provider and what to do', async t => {
  const refused = new ProviderFailure({ kind: 'credential' }, 401)
  t.equal(
    start().begin().recordError(refused).message,
    'The provider `one` refused the call: this gateway has no credential for it. The operator of this gateway can run `headgate doctor` to find out why.'
  )
  const withKey = new RouteAttempt(
    routedCall({}),
    { ...provider('one'), secrets: [new Secret('sk-canary')] },
    { route: chosen, credentialIndex: undefined },
    new RoutingState(() => 0)
  )
  t.equal(
    withKey.recordError(refused).message,
    'The provider `one` refused the credential of this gateway. The operator of this gateway can run `headgate doctor` to find out why.'
  )
  const own = new RouteAttempt(
    { ...routedCall({}), providerKey: new Secret('sk-own') },
    provider('one'),
    { route: chosen, credentialIndex: undefined },
    new RoutingState(() => 0)
  )
  t.match(own.recordError(refused), { code: 'invalid_provider_key' })
})
