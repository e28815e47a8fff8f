import t from 'tap'
import { limitedParties } from '../../lib/limits/call-accounts.ts'
import { limitStatuses } from '../../lib/limits/key-status.ts'
import { LocalLimiter } from '../../lib/limits/limiter.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { countOnly } from '../../lib/stages/count-only.ts'
import { settings } from '../support/settings.ts'
import { collect, routedCall } from '../support/stages.ts'

const key = {
  id: 'key-1', name: 'test', limits: { tokensPerMinute: 10, requestsPerMinute: 1, concurrentCalls: 1 }
}

t.test('a call admitted earlier is counted and never refused', async t => {
  const limiter = new LocalLimiter({ now: () => 1_000_000 })
  const stage = countOnly({ limiter, settings: settings() })
  const left = async (): Promise<object> => {
    const statuses = await limitStatuses(limiter, limitedParties(key, undefined), false)
    return Object.fromEntries(statuses.map(({ name, remaining }) => [name, remaining]))
  }
  for (const tokens of [4, 0, -4]) {
    const [counted] = await collect(stage(once(routedCall({}, { key }))))
    t.equal(limiter.counters.open, 1, 'it is open')
    limiter.settle(counted?.record.limits.reservation ?? NaN, { used: { tokens: 6 } })
    t.equal(limiter.counters.open, 0)
    t.match(await left(), { tokens_per_minute: Math.max(0, tokens) }, 'its tokens are counted')
    t.match(await left(), { requests_per_minute: 1 }, 'it is no further request')
  }
})

t.test('a call without limits reserves nothing', async t => {
  const limiter = new LocalLimiter()
  const call = routedCall({})
  t.same(await collect(countOnly({ limiter, settings: settings() })(once(call))), [call])
  t.equal(call.record.limits.reservation, undefined)
  t.equal(limiter.counters.open, 0)
})
