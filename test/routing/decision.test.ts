import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { canServe, decide } from '../../lib/routing/decision.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { clock, fail, route } from '../support/routes.ts'
import { provider, providerSettings } from '../support/settings.ts'

t.test('a decision has the order, the state and the reason of every route', async t => {
  const { now, pass } = clock()
  const routingState = new RoutingState(now)
  const routes = [
    route('one/a', { by: 'score', value: 0.834 }), route('two/b', { by: 'score', value: 0.5 }),
    route('three/c', { by: 'score', value: 0.25 }), route('four/d', { by: 'score', value: 0.1 })
  ]
  for (let count = 0; count < 5; count++) fail(routingState, route('one/a'))
  const limited = new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 30 })
  routingState.retryBudget('two').onFailure(limited)
  const decision = decide({
    requested: 'smart',
    routes,
    routingState,
    keyId: 'key-1',
    canServe: ({ providerId }) => providerId !== 'three'
  })
  t.match(decision, { object: 'route.decision', requested: 'smart' })
  t.match(decision.candidates, [
    { rank: 1, model: 'four/d', provider: 'four', score: 0.1, state: 'ready', reason: 'score=0.10' },
    {
      rank: 2,
      model: 'one/a',
      score: 0.834,
      state: 'circuit_open',
      origin: 'this_process',
      until: /^\d{4}-.*Z$/,
      reason: 'score=0.83'
    },
    { rank: 3, model: 'two/b', state: 'rate_limited', until: /Z$/ },
    { rank: 4, model: 'three/c', state: 'unsuitable' }
  ])
  pass(5000)
  routingState.begin(route('one/a'), 'key-1')
  const probed = decide({
    requested: '',
    routes,
    routingState,
    keyId: 'key-1',
    canServe: () => true
  }).candidates.find(({ model }) => model === 'one/a')
  t.same([probed?.state, probed?.until], ['circuit_open', undefined], 'how long a probe takes is unknown')
})

t.test('a route can serve the capabilities that its provider has an adapter for', async t => {
  const transport = { send: async () => await Promise.reject(new Error('no call is sent')) }
  const providers = new Map([
    ['one', createProvider(providerSettings('one', 'anthropic'), transport)],
    ['two', provider('two')]
  ])
  const tests = (['chat', 'speech'] as const).map(capability => canServe(providers, capability))
  for (const [id, expected] of [
    ['one/a', [true, false]],
    ['two/a', [false, false]],
    ['three/a', [false, false]]
  ] as const) {
    t.same(
      tests.map(test => test(route(id))),
      expected,
      id
    )
  }
})
