import t from 'tap'
import { LocalLimiter } from '../../lib/limits/limiter.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { countOnly } from '../../lib/stages/count-only.ts'
import { settings } from '../support/settings.ts'
import { collect, routedCall } from '../support/stages.ts'

const call = () => routedCall({}, { key: { id: 'key-1', name: 'test', limits: { tokensPerMinute: 1 } } })

t.test('a call admitted earlier is counted and never refused', async t => {
  const stage = countOnly({ limiter: new LocalLimiter(), settings: settings() })
  for (let time = 0; time < 3; time++) {
    const [counted] = await collect(stage(once(call())))
    t.type(counted?.record.limits.reservation, 'number')
  }
})
