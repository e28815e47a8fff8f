import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { hedge, hedgedAnswer, type Send } from '../../lib/attempts/hedged-answer.ts'
import { bufferedResponse, type OpenResponse } from '../../lib/attempts/open-response.ts'
import { RouteAttempt } from '../../lib/attempts/route-attempt.ts'
import { reportedBy, type Usage } from '../../lib/core/usage.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { route } from '../support/routes.ts'
import { provider } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import { until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'

const usage = { promptTokens: 7, completionTokens: 2, totalTokens: 9 }

/** Two requests that end on command. */
function race () {
  const call = routedCall({})
  const state = new RoutingState(() => 0)
  const closed: string[] = []
  const routes = { first: route('one/a'), second: route('two/b') }
  const answerOf = (name: 'first' | 'second'): OpenResponse<never> =>
    Object.assign(bufferedResponse<never>(routes[name], []), {
      name, reported: () => reportedBy(usage), close: () => { closed.push(name) }
    })
  const ends = { first: withResolvers<OpenResponse<never>>(), second: withResolvers<OpenResponse<never>>() }
  const aborted: string[] = []
  const begin = (name: 'first' | 'second') =>
    new RouteAttempt(call, provider('one'), { route: routes[name], credentialIndex: undefined }, state)
  const send = async (attempt: RouteAttempt, signal: AbortSignal): Promise<OpenResponse<never>> => {
    const name = attempt.route === routes.first ? 'first' : 'second'
    signal.addEventListener('abort', () => aborted.push(name))
    return await ends[name].promise
  }
  let started = false
  const raced = hedgedAnswer(call, begin('first'), 1, send, () => {
    started = true
    return begin('second')
  })
  return {
    record: call.record, aborted, closed, raced,
    both: async () => { await until(() => started, 'the second request') },
    succeed: (name: 'first' | 'second') => ends[name].resolve(answerOf(name)),
    fail: (name: 'first' | 'second', used?: Usage) =>
      ends[name].reject(new GatewayError('upstream_error', { usage: used }))
  }
}

const notes = ({ record }: ReturnType<typeof race>): unknown =>
  record.routing.unusedRoutes?.map(({ route, reason }) => [route.modelId, reason])

t.test('the second request answers: its route is chosen, and the first counts as slower', async t => {
  const run = race()
  await run.both()
  run.succeed('second')
  t.match(await run.raced, { route: { modelId: 'two/b' }, name: 'second' })
  t.same([run.record.routing.modelId, notes(run)], ['two/b', [['one/a', 'slower']]])
  run.succeed('first')
  await until(() => run.closed.length > 0, 'the late answer to be closed')
  t.same(run.closed, ['first'])
})

t.test('usage of the request that lost is recorded, from its error or its late answer', async t => {
  const names = ['first', 'second'] as const
  for (const [index, loser] of names.entries()) {
    for (const end of ['fail', 'succeed'] as const) {
      const run = race()
      await run.both()
      run.succeed(names[1 - index] ?? loser)
      await run.raced
      t.same(run.aborted, [loser])
      if (end === 'fail') run.fail(loser, usage)
      else run.succeed(loser)
      await until(() => run.record.usage.wasted !== undefined, `the usage of the ${loser} request (${end})`)
      t.same(run.record.usage.wasted, [{ modelId: loser === 'first' ? 'one/a' : 'two/b', usage }])
    }
  }
})

t.test('the first request answers after all', async t => {
  const run = race()
  await run.both()
  run.succeed('first')
  t.match(await run.raced, { route: { modelId: 'one/a' }, name: 'first' })
  t.same(notes(run), [['two/b', 'slower']])
})

t.test('the first request fails and the second answers', async t => {
  const run = race()
  await run.both()
  run.fail('first')
  await new Promise(resolve => { setImmediate(resolve) })
  run.succeed('second')
  t.match(await run.raced, { route: { modelId: 'two/b' } })
  t.same(notes(run), [['one/a', 'upstream_error']])
})

t.test('both fail: the error of the second is recorded, that of the first is thrown', async t => {
  const run = race()
  await run.both()
  run.fail('second')
  run.fail('first')
  await t.rejects(run.raced, { code: 'upstream_error' })
  t.same(notes(run), [['two/b', 'upstream_error']])
})

interface Sent {
  readonly send: Send<string>
  readonly answer: (text: string) => void
  readonly fail: (error: Error) => void
  readonly started: () => boolean
  readonly aborted: () => boolean
}

/** A request that ends on command. */
function request (): Sent {
  const ends = withResolvers<string>()
  let given: AbortSignal | undefined
  return {
    send: async signal => {
      given = signal
      signal.addEventListener('abort', () => ends.reject(signal.reason))
      return await ends.promise
    },
    answer: ends.resolve,
    fail: ends.reject,
    started: () => given !== undefined,
    aborted: () => given?.aborted === true
  }
}

const none = (): void => undefined

t.test('if the first request answers or fails in time, there is no second', async t => {
  const [quick, broken, second] = [request(), request(), request()]
  quick.answer('first')
  t.strictSame(await hedge(60_000, quick.send, () => second.send, none), { answer: 'first', winner: 'first' })
  broken.fail(new Error('refused'))
  await t.rejects(hedge(60_000, broken.send, () => second.send, none), { message: 'refused' })
  t.equal(second.started(), false)
})

t.test('the faster of two answers wins, and the other request is aborted', async t => {
  for (const winner of ['first', 'second'] as const) {
    const requests = { first: request(), second: request() }
    const raced = hedge(1, requests.first.send, () => requests.second.send, none)
    await until(() => requests.second.started(), 'the second request')
    requests[winner].answer('here')
    t.strictSame(await raced, { answer: 'here', winner })
    t.same([requests.first.aborted(), requests.second.aborted()], [winner === 'second', winner === 'first'])
  }
})

t.test('a late answer of the other request is released', async t => {
  const discarded: string[] = []
  const late = withResolvers<string>()
  const second = request()
  const raced = hedge(
    1,
    async () => await late.promise,
    () => second.send,
    answer => {
      discarded.push(answer)
    }
  )
  await until(() => second.started(), 'the second request')
  second.answer('second')
  t.equal((await raced).answer, 'second')
  late.resolve('first')
  await until(() => discarded.length > 0, 'the late answer to be released')
  t.same(discarded, ['first'])
})

t.test('a second answer carries the failure of the first request', async t => {
  const [first, second] = [request(), request()]
  const raced = hedge(1, first.send, () => second.send, none)
  await until(() => second.started(), 'the second request')
  const failure = new Error('first failed')
  first.fail(failure)
  await new Promise(resolve => { setImmediate(resolve) })
  second.answer('second')
  t.strictSame(await raced, { answer: 'second', winner: 'second', firstFailure: failure })
})

t.test('when both requests fail, the first failure is thrown', async t => {
  const [first, second] = [request(), request()]
  const raced = hedge(1, first.send, () => second.send, none)
  await until(() => second.started(), 'the second request')
  second.fail(new Error('second failed'))
  first.fail(new Error('first failed'))
  await t.rejects(raced, { message: 'first failed' })
})

t.test('without a second route, the first request may take as long as it needs', async t => {
  const first = request()
  let started = 0
  const raced = hedge(1, first.send, () => { started++; return undefined }, none)
  await until(() => started > 0, 'the second to start')
  first.answer('at last')
  t.strictSame(await raced, { answer: 'at last', winner: 'first' })
})
