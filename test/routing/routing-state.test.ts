import fc from 'fast-check'
import t from 'tap'
import { GatewayError, type ErrorCode } from '../../lib/core/errors.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { clock, fail, route } from '../support/routes.ts'
import type { Route } from '../../lib/core/route.ts'

t.test('routes are tried in order, those that cool down last', async t => {
  const a = route('one/a')
  const b = route('two/b')
  const c = route('three/c')
  const { now, pass } = clock()
  const state = new RoutingState(now)
  const open = ({ modelId }: Route): void => {
    for (let count = 0; count < 5; count++) fail(state, route(modelId))
  }
  const order = (...routes: Route[]): string[] => {
    const seen: string[] = []
    for (const { modelId } of state.candidates(routes, 'key-1', ({ modelId }, { reason }) =>
      seen.push(`(${modelId} ${reason})`)
    )) {
      seen.push(modelId)
    }
    return seen
  }
  t.same(order(a, b, c), ['one/a', 'two/b', 'three/c'])
  open(a)
  t.same(order(a, b, c), ['(one/a circuit_open)', 'two/b', 'three/c', 'one/a'])
  t.same(order(b, a), ['two/b', 'one/a'], 'the last is tried without a look')
  t.same(order(a), ['one/a'], 'the only one as well')
  state.retryBudget('two').onFailure(new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 60 }))
  t.same(order(a, b, c), ['(one/a circuit_open)', '(two/b rate_limited)', 'three/c', 'one/a', 'two/b'])
  t.same(order(a, b), ['one/a', 'two/b'], 'when all are in trouble, as given')
  pass(5000)
  t.same(order(a, b, c), ['one/a', '(two/b rate_limited)', 'three/c', 'two/b'], 'time for a probe')

  const later = state.candidates([c, a, b], 'key-1', () => undefined)[Symbol.iterator]()
  t.equal(later.next().value, c)
  open(a)
  state.retryBudget('two').onFailure(new GatewayError('upstream_overloaded', { retryAfterSeconds: 1 }))
  t.equal(later.next().value, a, 'what has happened meanwhile counts')
})

t.test('a rotation tries every model once', async t => {
  const ids = ['one/a', 'one/b', 'two/c', 'two/d', 'three/e']
  fc.assert(
    fc.property(
      fc.shuffledSubarray(ids),
      fc.subarray(ids),
      fc.subarray(['one', 'two', 'three']),
      (named, failing, paused) => {
        const state = new RoutingState(() => 0)
        for (const id of failing) for (let count = 0; count < 5; count++) fail(state, route(id))
        for (const id of paused) {
          state.retryBudget(id).onFailure(new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 9 }))
        }
        const turns = [
          ...state.candidates(
            named.map(id => route(id)),
            'key-1',
            () => undefined
          )
        ]
        const isWaiting = (id: string): boolean =>
          failing.includes(id) || paused.some(provider => id.startsWith(`${provider}/`))
        const found = turns.map(({ modelId }) => modelId)
        // The last item of a list is tried in place unless others wait already.
        const waiting = named.filter(isWaiting)
        t.same(found, [...named.filter(id => !isWaiting(id)), ...waiting])
      }
    ),
    { numRuns: 50 }
  )
})

t.test('only failures of the provider count against a model', async t => {
  const a = route('one/a')
  const codes: Array<[ErrorCode, boolean]> = [
    ['upstream_error', true],
    ['upstream_unreachable', true],
    ['upstream_overloaded', true],
    ['upstream_timeout', true],
    ['upstream_invalid_response', true],
    ['upstream_stream_interrupted', true],
    ['invalid_value', false],
    ['context_length_exceeded', false],
    ['content_policy_violation', false],
    ['client_closed_request', false],
    ['timeout', false],
    ['internal_error', false],
    ['model_not_found', false],
    ['upstream_auth_failed', false],
    ['rate_limit_exceeded', false]
  ]
  for (const [code, counts] of codes) {
    const state = new RoutingState(() => 0)
    for (let count = 0; count < 5; count++) fail(state, a, code)
    t.equal(state.cooldown(a, 'key-1')?.reason, counts ? 'circuit_open' : undefined, code)
    t.equal(state.cooldown(route('one/b'), 'key-1'), undefined, 'and never against another')
  }
  const cut = new RoutingState(() => 0)
  const answer = (): void => {
    const attempt = cut.begin(a, 'key-1')
    cut.succeeded(a, attempt, true, 1)
    cut.ended(a, attempt)
  }
  for (let count = 0; count < 5; count++) {
    answer()
    cut.recordStreamFailure(a, 'key-1', new Error('ours'))
  }
  t.equal(cut.cooldown(a, 'key-1'), undefined)
  for (let count = 0; count < 5; count++) {
    answer()
    cut.recordStreamFailure(a, 'key-1', new GatewayError('upstream_stream_interrupted'))
  }
  t.equal(cut.cooldown(a, 'key-1')?.reason, 'circuit_open', 'answers that are cut off count as well')
})

t.test('names made up by callers are forgotten eventually', async t => {
  const state = new RoutingState(() => 0)
  const first = route('one/first')
  for (let count = 0; count < 5; count++) fail(state, first)
  for (let name = 0; name < 999; name++) fail(state, route(`one/${name}`))
  t.ok(state.cooldown(first, 'key-1'), 'a thousand are')
  fail(state, route('one/more'))
  t.notOk(state.cooldown(first, 'key-1'))
})

t.test('pending requests are counted only for routes by load, and forgotten when they end', async t => {
  const state = new RoutingState(() => 0)
  const [loaded, plain] = [route('one/a', { by: 'load' }), route('one/b')]
  const attempts = [state.begin(loaded, 'key-1'), state.begin(loaded, 'key-1')]
  state.begin(plain, 'key-1')
  t.same([state.waiting('one/a'), state.waiting('one/b')], [2, 0])
  for (const attempt of attempts) state.ended(loaded, attempt)
  t.equal(state.waiting('one/a'), 0)
})

t.test(
  'only models ordered by speed are measured, streams separately from complete answers',
  async t => {
    const state = new RoutingState(() => 0)
    const [fast, plain] = [route('one/a', { by: 'first_byte' }), route('one/b')]
    state.succeeded(fast, state.begin(fast, 'key-1'), true, 30)
    state.succeeded(plain, state.begin(plain, 'key-1'), true, 30)
    t.same(
      [
        state.latencies(true).of('one/a'),
        state.latencies(false).of('one/a'),
        state.latencies(true).of('one/b')
      ],
      [30, undefined, undefined]
    )
  }
)

t.test('a wait of one of several credentials does not stop the provider', async t => {
  const state = new RoutingState(() => 0)
  state.addCredentials('one', [1, 1])
  const limited = new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 9 })
  const [a] = [route('one/a')]
  state.failed(a, state.begin(a, 'key-1'), limited, 0)
  t.equal(state.pauseMs('one'), 0)
  state.failed(a, state.begin(a, 'key-1'), limited, 1)
  t.equal(state.pauseMs('one'), 9000, 'until all of them wait')
  t.equal(state.credentials('one')?.size, 2)
})

t.test('the state of unchanged providers is taken over and shared after a reload', async t => {
  const before = new RoutingState(() => 0)
  const [a, b] = [route('one/a'), route('two/b')]
  for (let count = 0; count < 5; count++) for (const each of [a, b]) fail(before, each)
  const after = new RoutingState(() => 0)
  const loaded = route('one/b', { by: 'load' })
  const open = before.begin(loaded, 'key-1')
  after.adopt(before, id => id === 'one')
  t.equal(after.waiting('one/b'), 1, 'a call that is open counts')
  before.ended(loaded, open)
  t.equal(after.waiting('one/b'), 0)
  t.same([...after.circuits()], [['one/a', true]])
  t.equal(after.retryBudget('one'), before.retryBudget('one'))
  t.not(after.retryBudget('two'), before.retryBudget('two'))
})

t.test('of the cooldowns that other processes report, the newest thousand are kept', async t => {
  const state = new RoutingState(clock().now)
  for (let count = 0; count < 1500; count++) {
    state.learn({ providerId: 'one', modelId: `one/${count}`, forMs: 60_000, failingMs: 0 }, 'other')
  }
  const names = [...state.cooldowns('key-1')].map(([name]) => name)
  t.strictSame([names.length, names.at(0), names.at(-1)], [1000, 'one/500', 'one/1499'])
})

t.test('the state of another process applies until this one knows something newer', async t => {
  const { now, pass } = clock()
  const state = new RoutingState(now, () => undefined)
  const [a, b] = [route('one/a'), route('two/b')]
  const open = { providerId: 'one', modelId: 'one/a', forMs: 5000, failingMs: 100 }
  const succeed = (ms = 0): void => {
    const attempt = state.begin(a, 'key-1')
    state.succeeded(a, attempt, false, ms)
    state.ended(a, attempt)
  }
  state.learn(open, 'other')
  t.same(state.cooldown(a, 'key-1'), { reason: 'circuit_open', forMs: 5000, origin: 'another_process' })
  t.same([...state.candidates([a, b], 'key-1', () => undefined)], [b, a])
  t.same([...state.cooldowns('key-1')], [['one/a', state.cooldown(a, 'key-1')]])
  state.learn({ ...open, forMs: 0 }, 'a third')
  t.ok(state.cooldown(a, 'key-1'), 'only the one that said so can take it back')
  state.learn({ ...open, forMs: 0 }, 'other')
  t.notOk(state.cooldown(a, 'key-1'))
  state.learn(open, 'other')
  pass(10)
  succeed(20)
  t.ok(state.cooldown(a, 'key-1'), 'an attempt that began before says nothing')
  succeed()
  t.notOk(state.cooldown(a, 'key-1'), 'it works here')
  pass(50)
  state.learn(open, 'other')
  t.notOk(state.cooldown(a, 'key-1'), 'and has worked here since it failed there')
  pass(100)
  state.learn(open, 'other')
  t.ok(state.cooldown(a, 'key-1'))
  pass(5000)
  t.notOk(state.cooldown(a, 'key-1'), 'until it is over')
  for (let count = 0; count < 5; count++) fail(state, a)
  state.learn({ ...open, forMs: 60_000 }, 'other')
  t.match(state.cooldown(a, 'key-1'), { origin: 'this_process', forMs: 5000 }, 'its own cooldown counts')
  state.learn({ providerId: 'two', forMs: 9000, failingMs: 0 }, 'other')
  t.equal(state.pauseMs('two'), 9000)
  t.match(state.cooldown(b, 'key-1'), { reason: 'rate_limited', origin: 'another_process' })
  const after = new RoutingState(now)
  after.adopt(state, id => id === 'two')
  t.equal(after.hedgeBudget, state.hedgeBudget, 'extra requests count across a reload')
  t.equal(after.slowStreamBudget, state.slowStreamBudget)
  t.same([after.pauseMs('two'), after.cooldown(a, 'key-1')], [9000, undefined])
})

t.test(
  'starting and ending cooldowns are reported to others, and when there were failures',
  async t => {
    const { now, pass } = clock()
    const reported: object[] = []
    const state = new RoutingState(now, cooldown => reported.push(cooldown))
    state.addCredentials('two', [1, 1])
    const a = route('one/a')
    for (let count = 0; count < 5; count++) {
      fail(state, a)
      pass(10)
    }
    pass(5000)
    fail(state, a)
    state.succeeded(a, state.begin(a, 'key-1'), false, 0)
    state.failed(
      a,
      state.begin(a, 'key-1'),
      new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 7 })
    )
    for (const keyId of ['key-1', 'key-2']) {
      state.failed(
        route('two/b'),
        state.begin(route('two/b'), keyId),
        new GatewayError('upstream_auth_failed'),
        1
      )
    }
    const c = route('four/c')
    for (const keyId of ['key-1', 'key-2', 'key-3', 'key-1', 'key-2']) {
      fail(state, c, 'upstream_error', keyId)
    }
    t.match(reported, [
      { providerId: 'one', modelId: 'one/a', keyId: 'key-1', forMs: 5000, failingMs: 40 },
      { modelId: 'one/a', keyId: 'key-1', forMs: 10_000, failingMs: 5050 },
      { modelId: 'one/a', keyId: 'key-1', forMs: 0 },
      { providerId: 'one', modelId: undefined, forMs: 7000 },
      { providerId: 'two', credential: 1, keyId: undefined, forMs: 60_000 },
      { providerId: 'four', modelId: 'four/c', keyId: undefined, forMs: 5000 }
    ])
  }
)

t.test('a cooldown of one key at another process does not affect other keys here', async t => {
  const { now, pass } = clock()
  const state = new RoutingState(now)
  const a = route('one/a')
  state.learn({ providerId: 'one', modelId: 'one/a', keyId: 'key-1', forMs: 5000, failingMs: 0 }, 'other')
  t.match(state.cooldown(a, 'key-1'), { reason: 'circuit_open', origin: 'another_process' })
  t.equal(state.cooldown(a, 'key-2'), undefined)
  t.same([[...state.cooldowns('key-1')].length, [...state.cooldowns('key-2')].length], [1, 0])
  const after = new RoutingState(now)
  after.adopt(state, providerId => providerId === 'one')
  t.ok(after.cooldown(a, 'key-1'))
  pass(5000)
  t.equal(after.cooldown(a, 'key-1'), undefined)
})
