import { setImmediate as tick } from 'node:timers/promises'
import { requestOf } from '../support/limits.ts'
import t from 'tap'
import { once } from '../../lib/pipeline/sources.ts'
import { maxEndUsers } from '../../lib/limits/end-user-names.ts'
import { LocalLimiter, type Limiter } from '../../lib/limits/limiter.ts'
import { NamedBudgets } from '../../lib/limits/named-budgets.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { limits } from '../../lib/stages/limits.ts'
import { settings } from '../support/settings.ts'
import { estimateOf, type Estimate } from '../../lib/limits/estimate.ts'
import { collect, routedCall } from '../support/stages.ts'
import type { PartyLimits } from '../../lib/core/key.ts'

const models = createModels(settings(), new Set())
const call = (keyLimits?: PartyLimits, parts = {}) =>
  routedCall(
    {},
    { key: { id: 'key-1', name: 'test', ...keyLimits !== undefined && { limits: keyLimits } }, ...parts }
  )

t.test('a key without limits passes without a reservation', async t => {
  const unlimited = call()
  t.same(
    await collect(limits({ limiter: new LocalLimiter(), models, settings: settings() })(once(unlimited))),
    [unlimited]
  )
  t.match(unlimited.record, { limits: { reservation: undefined, headers: undefined } })
})

t.test('a key has its own limits, or those of the configuration', async t => {
  for (const [own, byDefault] of [
    [{ requestsPerMinute: 1 }, undefined],
    [undefined, { requestsPerMinute: 1 }]
  ] as const) {
    const given = settings()
    const stage = limits({
      limiter: new LocalLimiter(),
      models,
      settings: {
        ...given,
        limits: { ...given.limits, ...byDefault !== undefined && { defaultKeyLimits: byDefault } }
      }
    })
    const [first] = await collect(stage(once(call(own))))
    t.match(first?.record.limits, { reservation: Number, headers: { 'x-ratelimit-remaining-requests': '0' } })
    const refused = call(own)
    await t.rejects(collect(stage(once(refused))), {
      code: 'rate_limit_exceeded',
      status: 429,
      retryAfterSeconds: Number
    })
    t.equal(refused.record.limits.refusedBy, 'requests')
  }
})

t.test('tokens are reserved as estimated, and the estimate is kept for the ledger', async t => {
  const stage = limits(
    { limiter: new LocalLimiter(), models, settings: settings() },
    { estimate: () => estimateOf({ prompt: { typical: 60 }, answer: { typical: 30 } }) }
  )
  const [first] = await collect(stage(once(call({ tokensPerMinute: 100 }))))
  t.equal(first?.record.usage.estimate?.countPrompt(), 60)
  await t.rejects(collect(stage(once(call({ tokensPerMinute: 100 })))), { code: 'rate_limit_exceeded' })
})

t.test('a request is estimated at most once, and only if needed', async t => {
  let estimates = 0
  const estimate = (): Estimate => estimateOf({
    prompt: { typical: 60 + estimates++ }, answer: { typical: 30 }
  })
  const stage = limits({ limiter: new LocalLimiter(), models, settings: settings() }, { estimate })
  const [unlimited] = await collect(stage(once(call())))
  t.equal(estimates, 0)
  t.same(
    [
      unlimited?.record.usage.estimate?.countPrompt(),
      unlimited?.record.usage.estimate?.countAnswer(),
      unlimited?.record.usage.estimate?.estimateUnits()
    ],
    [60, 30, undefined]
  )
  const [limited] = await collect(stage(once(call({ tokensPerMinute: 100 }))))
  t.equal(limited?.record.usage.estimate?.countPrompt(), 61)
  t.equal(estimates, 2)
})

t.test('the cost of a call without a budget is not computed', async t => {
  const find = (): undefined => { t.fail('no price is needed') }
  const limited = call({ requestsPerMinute: 1 })
  const stage = limits({ limiter: new LocalLimiter(), models: { ...models, find }, settings: settings() })
  t.same(await collect(stage(once(limited))), [limited])
})

t.test(
  "a call with the caller's provider key needs no budget, but keeps to the other limits",
  async t => {
    const limiter = new LocalLimiter()
    const keyLimits: PartyLimits = { requestsPerMinute: 3, budget: { usd: 1e-9, per: 'total' } }
    for (const [party, parts] of [
      ['key', { key: { id: 'of-key', name: 'test', limits: keyLimits } }],
      [
        'project',
        {
          key: {
            id: 'of-project',
            name: 'test',
            project: { id: 'project-1', name: 'test', limits: keyLimits }
          }
        }
      ]
    ] as const) {
      const stage = limits({ limiter, models, settings: settings() })
      const id = party === 'key' ? 'of-key' : 'project-1'
      const spent = await limiter.reserve(
        requestOf({ keyId: id, limits: keyLimits, tokens: 0, nanoUsd: 1 }, party)
      )
      if (!spent.admitted) return t.fail('refused')
      limiter.settle(spent.reservation, { used: { nanoUsd: 1 } })
      t.match(
        await limiter.reserve(requestOf({ keyId: id, limits: keyLimits, tokens: 0, nanoUsd: 0 }, party)),
        { admitted: false, reason: 'budget' },
        'it is used up'
      )
      const withOwnKey = (): ReturnType<typeof call> => {
        const own = routedCall({}, parts)
        own.record.caller.usesOwnProviderKey = true
        return own
      }
      for (const remaining of ['1', '0']) {
        const [admitted] = await collect(stage(once(withOwnKey())))
        const rest = { headers: { 'x-ratelimit-remaining-requests': remaining } }
        t.match(admitted?.record, { limits: rest, cost: { reservedNanoUsd: undefined } }, party)
      }
      await t.rejects(collect(stage(once(withOwnKey()))), { code: 'rate_limit_exceeded' }, party)
    }
  }
)

t.test('a patient call waits until there is room, or until it ends', async t => {
  const limiter = new LocalLimiter()
  const services = { limiter, models, settings: settings() }
  const [open] = await collect(limits(services)(once(call({ concurrentCalls: 1 }))))
  const waiting = collect(limits(services, { waitForCapacity: true })(once(call({ concurrentCalls: 1 }))))
  limiter.settle(open?.record.limits.reservation ?? 0, { used: {} })
  t.equal((await waiting).length, 1)
  const left = collect(
    limits(services, { waitForCapacity: true })(
      once(call({ concurrentCalls: 1 }, { signal: AbortSignal.timeout(20) }))
    )
  )
  await t.rejects(left, { name: 'TimeoutError' })
})

t.test(
  'a call that ends while another process decides stops waiting, and its reservation is released',
  async t => {
    const local = new LocalLimiter()
    let decide = (): void => undefined
    const decided = new Promise<void>(resolve => {
      decide = resolve
    })
    const limiter: Limiter = {
      reserve: async wanted => {
        await decided
        return local.reserve(wanted)
      },
      settle: (reservation, used) => local.settle(reservation, used),
      settleRecorded: async usages => await local.settleRecorded(usages)
    }
    const leaving = new AbortController()
    const left = collect(
      limits({ limiter, models, settings: settings() })(
        once(call({ concurrentCalls: 1, requestsPerMinute: 1 }, { signal: leaving.signal }))
      )
    )
    leaving.abort(new Error('left'))
    await t.rejects(left, { message: 'left' })
    decide()
    await tick() // the late decision is made and released
    const [next] = await collect(
      limits({ limiter, models, settings: settings() })(
        once(call({ concurrentCalls: 1, requestsPerMinute: 1 }))
      )
    )
    t.match(next?.record.limits, { reservation: Number })
    t.equal(local.counters.open, 1)
  }
)

t.test("only admitted calls take one of a project's end user slots", async t => {
  const defaultBudget = { usd: 1, per: 'day', unpriced: 'allow' } as const
  const given = settings({ endUsers: { required: false, defaultBudget, store: 'as_given' } })
  const namedBudgets = new NamedBudgets(given, { secret: Buffer.alloc(32, 1) })
  const stage = limits({ limiter: new LocalLimiter(), models, settings: given, namedBudgets })
  const callOf = (endUser: string, requestsPerMinute: number) => {
    const named = call({ requestsPerMinute })
    named.record.caller.endUser = endUser
    return named
  }
  const partyOf = async (endUser: string) => {
    const [party] = await namedBudgets.partiesOf(callOf(endUser, 1), Date.now())
    return party?.id
  }
  await collect(stage(once(callOf('first', 1))))
  let refused = 0
  for (let number = 0; number < maxEndUsers; number++) {
    await partyOf(`looked-${number}`)
    await collect(stage(once(callOf(`refused-${number}`, 1)))).catch(() => refused++)
  }
  t.equal(refused, maxEndUsers)
  t.match(await partyOf('one more'), /^default\/[\w-]{22}$/)
  for (let number = 2; number < maxEndUsers; number++) {
    namedBudgets.noteAdmitted([{ party: { kind: 'end_user', id: `default/${number}` } }], Date.now())
  }
  t.not(await partyOf('one more'), 'default/(other)', 'a place is left')
  await collect(stage(once(callOf('last', 1e9))))
  t.equal(await partyOf('one more'), 'default/(other)')
  t.match(await partyOf('first'), /^default\/[\w-]{22}$/)
})
