import fc from 'fast-check'
import t from 'tap'
import { RetryBudget } from '../../lib/routing/retry-budget.ts'
import { Breaker, type Attempt } from '../../lib/routing/breaker.ts'
import { decide } from '../../lib/routing/decision.ts'
import { RouteHealth } from '../../lib/routing/route-health.ts'
import { candidatesOf, explainRoute } from '../../lib/routing/explain-route.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { GatewayError, type ErrorCode } from '../../lib/core/errors.ts'
import type { Ranked, Route } from '../../lib/core/route.ts'

function route (modelId: string, ranked?: Ranked): Route {
  const [providerId = '', model = ''] = modelId.split('/')
  return { providerId, model, modelId, ...ranked !== undefined && { ranked } }
}

/** A clock that is set by hand. */
function clock (): { now: () => number, pass: (ms: number) => void } {
  let ms = 1000
  return { now: () => ms, pass: more => { ms += more } }
}

t.test('a circuit', async t => {
  /**
   * Plays attempts: `f` fails, `s` succeeds, `c` succeeds and is cut off, `-` ends without a word; a
   * number lets seconds pass.
   */
  const play = (steps: string): string => {
    const { now, pass } = clock()
    const breaker = new Breaker()
    for (const step of steps.split(' ')) {
      if (/\d/.test(step)) {
        pass(Number(step) * 1000)
        continue
      }
      const attempt = breaker.begin(now())
      if (step === 'f') breaker.failed(attempt, now())
      if (step === 's' || step === 'c') breaker.succeeded(attempt, now())
      if (step === 'c') breaker.recordStreamFailure(now())
      breaker.ended(attempt)
    }
    const forMs = breaker.openForMs(now())
    return forMs === undefined ? 'goes' : `open ${forMs / 1000}`
  }
  const half = 'f s '.repeat(9)
  for (const [name, steps, expected] of [
    ['four failures are not enough', 'f f f f', 'goes'],
    ['the fifth in a row opens it', 'f f f f f', 'open 5'],
    ['a success in between begins anew', 'f f f f s f f f f', 'goes'],
    ['half of twenty opens it', `${half}s f`, 'open 5'],
    ['half of nineteen does not', `${half}s`, 'goes'],
    ['less than half does not', `${half}s s s f`, 'goes'],
    ['what ends without a word does not count', 'f f f f - f', 'open 5'],
    ['an answer that is cut off is no success', 'c c c c c', 'open 5'],
    ['of several the newest', 's s f f f c c', 'open 5'],
    ['also of a probe', 'f f f f f 5 c f f f', 'goes'],
    ['a minute of silence is forgotten', 'f f f f 61 f', 'goes'],
    ['a minute with attempts is not', 'f f 50 f f 50 f', 'open 5'],
    ['it stays open until the time is over', 'f f f f f 4', 'open 1'],
    ['then one may try', 'f f f f f 5', 'goes'],
    ['who succeeds closes it', 'f f f f f 5 s', 'goes'],
    ['and all is forgotten', 'f f f f f 5 s f f f f', 'goes'],
    ['who fails opens it for twice the time', 'f f f f f 5 f', 'open 10'],
    ['and twice again', 'f f f f f 5 f 10 f', 'open 20'],
    ['but never for more than a minute', 'f f f f f 5 f 10 f 20 f 40 f 60 f', 'open 60'],
    ['the next time it is five seconds again', 'f f f f f 5 f 10 s f f f f f', 'open 5'],
    ['who ends without a word leaves room for another', 'f f f f f 5 -', 'goes'],
    ['a call that had no choice may close it', 'f f f f f s', 'goes'],
    ['or fail, and change nothing', 'f f f f f 4 f', 'open 1']
  ] as const) t.equal(play(steps), expected, name)

  t.test('lets one probe through at a time', async t => {
    const { now, pass } = clock()
    const breaker = new Breaker()
    const late = breaker.begin(now())
    for (let count = 0; count < 5; count++) breaker.failed(breaker.begin(now()), now())
    breaker.succeeded(late, now())
    t.equal(breaker.openForMs(now()), 5000, 'what began before it opened says nothing any more')
    pass(5000)
    const probe = breaker.begin(now())
    t.same([probe.isProbe, breaker.openForMs(now())], [true, 0])
    const other = breaker.begin(now())
    breaker.ended(other)
    t.same([other.isProbe, breaker.openForMs(now())], [false, 0], 'one that had no choice is none')
    breaker.ended(probe)
    t.equal(breaker.openForMs(now()), undefined)
  })

  t.test('is never open for good, whatever happens', async () => {
    fc.assert(fc.property(fc.array(fc.constantFrom('f', 's', '-', 'begin', '1', '9')), steps => {
      const { now, pass } = clock()
      const breaker = new Breaker()
      const under: Attempt[] = []
      for (const step of steps) {
        if (step === '1' || step === '9') pass(Number(step) * 1000)
        else if (step === 'begin') under.push(breaker.begin(now()))
        else {
          const attempt = under.shift()
          if (attempt === undefined) continue
          if (step === 'f') breaker.failed(attempt, now())
          if (step === 's') breaker.succeeded(attempt, now())
          breaker.ended(attempt)
        }
      }
      for (const attempt of under) breaker.ended(attempt)
      pass(60_000)
      return breaker.openForMs(now()) === undefined
    }))
  })
})

t.test('a retry budget keeps the wait a provider asked for, whether or not it is tried again', async t => {
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

t.test('routes are tried as given, but those that cool down after all others', async t => {
  const a = route('one/a'); const b = route('two/b'); const c = route('three/c')
  const { now, pass } = clock()
  const health = new RouteHealth(now)
  const open = ({ modelId }: Route): void => {
    for (let count = 0; count < 5; count++) fail(health, route(modelId))
  }
  const order = (...routes: Route[]): string[] => {
    const seen: string[] = []
    for (const { modelId } of health.candidates(routes, ({ modelId }, { reason }) => seen.push(`(${modelId} ${reason})`))) seen.push(modelId)
    return seen
  }
  t.same(order(a, b, c), ['one/a', 'two/b', 'three/c'])
  open(a)
  t.same(order(a, b, c), ['(one/a circuit_open)', 'two/b', 'three/c', 'one/a'])
  t.same(order(b, a), ['two/b', 'one/a'], 'the last is asked without a look')
  t.same(order(a), ['one/a'], 'the only one as well')
  health.retryBudget('two').onFailure(new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 60 }))
  t.same(order(a, b, c), ['(one/a circuit_open)', '(two/b rate_limited)', 'three/c', 'one/a', 'two/b'])
  t.same(order(a, b), ['one/a', 'two/b'], 'when all are in trouble, as given')
  pass(5000)
  t.same(order(a, b, c), ['one/a', '(two/b rate_limited)', 'three/c', 'two/b'], 'time for a probe')

  const later = health.candidates([c, a, b], () => undefined)[Symbol.iterator]()
  t.equal(later.next().value, c)
  open(a)
  health.retryBudget('two').onFailure(new GatewayError('upstream_overloaded', { retryAfterSeconds: 1 }))
  t.equal(later.next().value, a, 'what has happened meanwhile counts')
})

t.test('a rotation tries every model, and none twice', async t => {
  const ids = ['one/a', 'one/b', 'two/c', 'two/d', 'three/e']
  fc.assert(fc.property(fc.shuffledSubarray(ids), fc.subarray(ids), fc.subarray(['one', 'two', 'three']), (asked, failing, held) => {
    const health = new RouteHealth(() => 0)
    for (const id of failing) for (let count = 0; count < 5; count++) fail(health, route(id))
    for (const id of held) health.retryBudget(id).onFailure(new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 9 }))
    const turns = [...health.candidates(asked.map(id => route(id)), () => undefined)]
    const isWaiting = (id: string): boolean => failing.includes(id) || held.some(provider => id.startsWith(`${provider}/`))
    const found = turns.map(({ modelId }) => modelId)
    // The last of a list is asked where it stands unless others wait already.
    const waiting = asked.filter(isWaiting)
    t.same(found, [...asked.filter(id => !isWaiting(id)), ...waiting])
  }), { numRuns: 50 })
})

t.test('only what a provider does wrong counts against a model', async t => {
  const a = route('one/a')
  const codes: Array<[ErrorCode, boolean]> = [
    ['upstream_error', true], ['upstream_unreachable', true], ['upstream_overloaded', true], ['upstream_timeout', true],
    ['upstream_invalid_response', true], ['upstream_stream_interrupted', true],
    ['invalid_value', false], ['context_length_exceeded', false], ['content_policy_violation', false],
    ['client_closed_request', false], ['timeout', false], ['internal_error', false],
    ['model_not_found', false], ['upstream_auth_failed', false], ['rate_limit_exceeded', false]
  ]
  for (const [code, counts] of codes) {
    const health = new RouteHealth(() => 0)
    for (let count = 0; count < 5; count++) fail(health, a, code)
    t.equal(health.cooldown(a)?.reason, counts ? 'circuit_open' : undefined, code)
    t.equal(health.cooldown(route('one/b')), undefined, 'and never against another')
  }
  const cut = new RouteHealth(() => 0)
  const answer = (): void => {
    const attempt = cut.begin(a)
    cut.answered(a, attempt, true, 1)
    cut.ended(a, attempt)
  }
  for (let count = 0; count < 5; count++) {
    answer()
    cut.recordStreamFailure(a, new Error('ours'))
  }
  t.equal(cut.cooldown(a), undefined)
  for (let count = 0; count < 5; count++) {
    answer()
    cut.recordStreamFailure(a, new GatewayError('upstream_stream_interrupted'))
  }
  t.equal(cut.cooldown(a)?.reason, 'circuit_open', 'answers that are cut off count as well')
})

t.test('names that callers make up are not remembered for ever', async t => {
  const health = new RouteHealth(() => 0)
  const first = route('one/first')
  for (let count = 0; count < 5; count++) fail(health, first)
  for (let name = 0; name < 999; name++) fail(health, route(`one/${name}`))
  t.ok(health.cooldown(first), 'a thousand are')
  fail(health, route('one/more'))
  t.notOk(health.cooldown(first))
})

t.test('a decision has the order, the state and the reason of all', async t => {
  const { now, pass } = clock()
  const health = new RouteHealth(now)
  const routes = [
    route('one/a', { by: 'score', value: 0.834 }), route('two/b', { by: 'score', value: 0.5 }),
    route('three/c', { by: 'score', value: 0.25 }), route('four/d', { by: 'score', value: 0.1 })
  ]
  for (let count = 0; count < 5; count++) fail(health, route('one/a'))
  health.retryBudget('two').onFailure(new GatewayError('rate_limit_exceeded', { retryAfterSeconds: 30 }))
  const decision = decide({ requested: 'smart', routes, health, canServe: ({ providerId }) => providerId !== 'three' })
  t.match(decision, { object: 'route.decision', requested: 'smart' })
  t.match(decision.candidates, [
    { rank: 1, model: 'four/d', provider: 'four', score: 0.1, state: 'ready', reason: 'score=0.10' },
    { rank: 2, model: 'one/a', score: 0.834, state: 'circuit_open', until: /^\d{4}-.*Z$/, reason: 'score=0.83' },
    { rank: 3, model: 'two/b', state: 'rate_limited', until: /Z$/ },
    { rank: 4, model: 'three/c', state: 'unsuitable' }
  ])
  pass(5000)
  health.begin(route('one/a'))
  const probed = decide({ requested: '', routes, health, canServe: () => true }).candidates.find(({ model }) => model === 'one/a')
  t.same([probed?.state, probed?.until], ['circuit_open', undefined], 'how long a probe takes is unknown')
})

t.test('a header names the models that were tried and why, in a few plain letters', async t => {
  const record = new CallRecord('chat')
  t.equal(explainRoute(record), undefined)
  const a = route('one/a'); const b = route('two/b')
  Object.assign(record, { routes: [a], chosen: a })
  t.equal(explainRoute(record), undefined, 'nothing where there was no choice')
  t.equal(candidatesOf(record), undefined)
  record.failedAttempts = [{ route: a, reason: 'upstream_error' }]
  t.equal(explainRoute(record), 'one/a: upstream_error; one/a: first_choice')
  Object.assign(record, { routes: [a, b], chosen: b })
  t.equal(explainRoute(record), 'one/a: upstream_error; two/b: next_choice')
  t.same(candidatesOf(record), ['one/a: first_choice', 'two/b: next_choice'])
  for (const [ranked, text] of [
    [{ by: 'score', value: 0.8251 }, 'score=0.83'], [{ by: 'weight', value: 3 }, 'weight=3'],
    [{ by: 'price', value: 3.4375 }, 'price=3.44'], [{ by: 'price' }, 'price=unknown'],
    [{ by: 'first_byte', value: 410.4 }, 'first_byte_ms=410'], [{ by: 'first_byte' }, 'first_byte_ms=unknown']
  ] as const) {
    const c = route('three/c', ranked)
    t.equal(explainRoute(Object.assign(record, { routes: [a, c], chosen: c })), `one/a: upstream_error; three/c: ${text}`)
  }
  const long = explainRoute(Object.assign(record, { failedAttempts: Array.from({ length: 99 }, () => ({ route: route('ü\r\nx/y'), reason: 'upstream_error' })) }))
  t.equal(long?.length, 512)
  t.match(long, /^\?\?\?x\/y: upstream_error; [\x20-\x7e]+\.\.\.$/)
  const many = Array.from({ length: 20 }, (_, index) => route(`one/${index}`))
  t.equal(candidatesOf(Object.assign(record, { routes: many }))?.length, 8)
})

/** One attempt that fails. */
function fail (health: RouteHealth, failing: Route, code: ErrorCode = 'upstream_error'): void {
  const attempt = health.begin(failing)
  health.failed(failing, attempt, new GatewayError(code))
  health.ended(failing, attempt)
}
