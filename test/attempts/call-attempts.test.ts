import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { CallAttempts } from '../../lib/attempts/call-attempts.ts'
import { bufferedResponse, type OpenResponse } from '../../lib/attempts/open-response.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { provider } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import { fail, route } from '../support/routes.ts'
import { outlast } from '../support/until.ts'
import type { Route } from '../../lib/core/route.ts'
import type { Usage } from '../../lib/core/usage.ts'

/** Returns an empty answer with a name. */
function answerOf (name: string, route: Route): OpenResponse<never> {
  return Object.assign(bufferedResponse<never>(route, []), { name })
}

/** The outcome of each request to a model, in order; the last one repeats. */
type Outcomes = Readonly<Record<string, ReadonlyArray<string | GatewayError> | undefined>>

const [one, two] = [route('one/a'), route('two/a')]

function start (
  outcomes: Outcomes,
  routes: readonly [Route, ...Route[]] = [one, two],
  {
    retries = 0,
    billed = {}
  }: { retries?: number, billed?: Readonly<Record<string, readonly Usage[]>> } = {}
) {
  const call = routedCall({}, { routes })
  const sent: string[] = []
  const attempts = new CallAttempts<never>(call, {
    state: new RoutingState(),
    usesFirstCredential: false,
    prepare: route => {
      const { modelId, providerId } = route
      const all = outcomes[modelId]
      if (all === undefined) return undefined
      return {
        provider: { ...provider(providerId), retries },
        readsToEnd: false,
        send: async () => {
          const outcome = all[Math.min(sent.filter(id => id === modelId).length, all.length - 1)]
          sent.push(modelId)
          if (typeof outcome !== 'string') throw outcome ?? new TypeError('no outcome')
          return answerOf(outcome, route)
        },
        unusedParts: () => (billed[modelId] ?? []).map(usage => ({ usage }))
      }
    }
  })
  return { call, record: call.record, sent, attempts }
}

const busy = new GatewayError('upstream_error')

t.test('the first route that answers is recorded as the chosen one', async t => {
  const { attempts, record, sent } = start({ 'one/a': [busy], 'two/a': ['fine'] })
  t.match(await attempts.answer(), { route: two, name: 'fine' })
  t.same(sent, ['one/a', 'two/a'])
  t.match(record.routing, {
    routes: [one, two],
    chosen: two,
    modelId: 'two/a',
    providerId: 'two',
    unusedRoutes: [{ route: one, reason: 'upstream_error' }]
  })
})

t.test('a call fails with the error of its last attempt', async t => {
  const { attempts, sent } = start({ 'one/a': [busy], 'two/a': [new GatewayError('upstream_timeout')] })
  await t.rejects(attempts.answer(), { code: 'upstream_timeout' })
  t.same(sent, ['one/a', 'two/a'])
})

t.test('an invalid request ends the call; an unsupported parameter tries the next provider', async t => {
  const mistake = start({ 'one/a': [new GatewayError('invalid_value')], 'two/a': ['fine'] })
  await t.rejects(mistake.attempts.answer(), { code: 'invalid_value' })
  t.same(mistake.sent, ['one/a'])
  const unsupported = start({ 'one/a': [new GatewayError('unsupported_parameter')], 'two/a': ['fine'] })
  t.match(await unsupported.attempts.answer(), { route: two })
})

t.test('every route is tried before any is retried, and retries are counted', async t => {
  const { attempts, record, sent } = start(
    { 'one/a': [busy, 'fine'], 'two/a': [busy, 'fine'] },
    [one, two],
    { retries: 1 }
  )
  await attempts.answer()
  t.same(sent.slice(0, 2), ['one/a', 'two/a'])
  t.equal(sent.length, 3)
  t.equal(record.routing.retries, 1)
  t.ok(record.times.upstreamWaitMs >= 70, `the pause counts as waiting: ${record.times.upstreamWaitMs} ms`)
})

t.test('a provider without the endpoint is skipped; if none has it, the model is not found', async t => {
  const { attempts, sent } = start({ 'two/a': ['fine'] })
  t.match(await attempts.answer(), { route: two })
  t.same(sent, ['two/a'])
  await t.rejects(start({}).attempts.answer(), {
    code: 'model_not_found',
    message: /`one\/a` does not serve this endpoint/,
    param: 'model'
  })
})

t.test('a call that has been aborted is not retried, and rejects with its reason', async t => {
  const ended = routedCall(
    {},
    { routes: [one, two], signal: AbortSignal.abort(new GatewayError('client_closed_request')) }
  )
  let sent = 0
  const attempts = new CallAttempts<never>(ended, {
    state: new RoutingState(),
    usesFirstCredential: false,
    prepare: () => ({
      provider: provider('one'),
      readsToEnd: false,
      unusedParts: () => [],
      send: async () => {
        sent++
        throw busy
      }
    })
  })
  await t.rejects(attempts.answer(), { code: 'client_closed_request' })
  t.equal(sent, 1)
})

t.test(
  'usage billed by failed attempts is recorded as wasted, that of the answer is not',
  async t => {
    const usage = { promptTokens: 3, completionTokens: 0, totalTokens: 3 }
    const { attempts, record } = start({ 'one/a': [busy], 'two/a': ['fine'] }, [one, two], {
      billed: { 'one/a': [usage], 'two/a': [usage] }
    })
    await attempts.answer()
    t.match(record.usage.wasted, [{ modelId: 'one/a', usage }])
    t.equal(record.usage.wasted?.length, 1)
  }
)

/** Attempts of a call whose routes may be hedged. */
function hedging (
  state: RoutingState,
  routes: readonly [Route, ...Route[]],
  send: (route: Route, signal: AbortSignal | undefined) => Promise<OpenResponse<never>>
) {
  const call = routedCall({}, { routes })
  const attempts = new CallAttempts<never>(call, {
    state,
    usesFirstCredential: false,
    prepare: route => ({
      provider: provider(route.providerId),
      readsToEnd: false,
      unusedParts: () => [],
      send: async (_attempt, signal) => await send(route, signal)
    })
  })
  return { attempts, record: call.record }
}

t.test('a slow route is hedged with a second request', async t => {
  const slow: Route = { ...one, hedgeAfterMs: 1 }
  const state = new RoutingState()
  for (let calls = 0; calls < 100; calls++) state.hedgeBudget.onCall()
  const { attempts, record } = hedging(state, [slow, two], async (route, signal) => {
    if (route.providerId === 'two') return answerOf('second', route)
    return await new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(new GatewayError('upstream_error')))
    })
  })
  t.match(await attempts.answer(), { route: two, name: 'second' })
  t.match(record.routing, { hedges: 1, chosen: two })
})

t.test('a hedge that no route is left for takes nothing from their budget', async t => {
  const state = new RoutingState()
  const slow: Route = { ...one, hedgeAfterMs: 1 }
  for (let count = 0; count < 5; count++) fail(state, two)
  let finish = (): void => undefined
  const { attempts } = hedging(state, [slow, two], async route => await new Promise(resolve => {
    finish = () => resolve(answerOf('first', route))
  }))
  const answer = attempts.answer()
  await outlast(5)
  finish()
  t.match(await answer, { name: 'first' })
  t.ok(state.hedgeBudget.take(), 'one was saved')
})

t.test('a call counts once for the budget of hedges, however many attempts it takes', async t => {
  const [first, second, third] = [1, 2, 3].map(number => ({ ...route(`p${number}/a`), hedgeAfterMs: 60_000 }))
  if (first === undefined || second === undefined || third === undefined) return t.fail('three routes')
  const state = new RoutingState()
  t.ok(state.hedgeBudget.take())
  for (let calls = 0; calls < 10; calls++) {
    const { attempts } = hedging(state, [first, second, third], async route => {
      if (route !== third) throw busy
      return answerOf('third', route)
    })
    await attempts.answer()
  }
  t.notOk(state.hedgeBudget.take(), 'ten calls save half a request')
})
