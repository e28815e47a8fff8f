import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { chargeOf, costOfJudged, costOfWasted, interruptedCost } from '../../lib/usage/call-cost.ts'
import { fillRecord, type RecordParts } from '../support/fill-record.ts'
import { recordedEstimate } from '../support/usage.ts'
import type { ModelEntry } from '../../lib/core/model.ts'

const models = {
  find: (): ModelEntry => ({
    ...unknownModelEntry('one', 'm', 'openai'), price: { input: 1, output: 10, asOf: '2026-01-01' }
  })
}
const usage = { promptTokens: 100, completionTokens: 10, totalTokens: 110 }
/** Of `usage`: 100 tokens at $1 and 10 at $10 a million, in billionths of a dollar. */
const usageNanoUsd = 200_000
const answered: RecordParts = {
  routing: { modelId: 'one/m', providerId: 'one', requestCount: 1, attemptsAtWork: 1 },
  usage: { total: usage }
}

function recordOf (...parts: readonly RecordParts[]): CallRecord {
  return fillRecord(new CallRecord('chat'), answered, ...parts)
}

t.test('a call is charged for its answer, for failed requests, and for those of guards', async t => {
  t.same(chargeOf(recordOf(), models, false), {
    usage, nanoUsd: usageNanoUsd, isEstimated: false, wastedTokens: null, wastedNanoUsd: null
  })
  const wasted = [{ modelId: 'one/m', usage }]
  const judged = [{ modelId: 'one/m', usage, isEstimated: false }]
  const record = recordOf({ usage: { wasted, judgeRequests: judged } })
  t.match(chargeOf(record, models, false), {
    usage: { promptTokens: 300, completionTokens: 30 },
    nanoUsd: 3 * usageNanoUsd,
    isEstimated: false,
    wastedTokens: 110,
    wastedNanoUsd: usageNanoUsd
  })
  t.equal(costOfWasted(record, models), usageNanoUsd)
  t.equal(costOfJudged(judged, models), usageNanoUsd)
})

t.test('a caller with a provider key of their own pays the provider, but guards are charged', async t => {
  const record = recordOf({
    caller: { usesOwnProviderKey: true },
    usage: {
      wasted: [{ modelId: 'one/m', usage }],
      judgeRequests: [{ modelId: 'one/m', usage, isEstimated: false }]
    }
  })
  t.equal(chargeOf(record, models, false).nanoUsd, usageNanoUsd)
})

t.test('a failed request without reported usage is estimated', async t => {
  const estimate = recordedEstimate({ countPrompt: () => 50, countAnswer: () => 5 })
  const record = recordOf({ usage: { estimate, wasted: [{ modelId: 'one/m' }] } })
  t.match(chargeOf(record, models, false), {
    nanoUsd: usageNanoUsd + 100_000, isEstimated: true, wastedTokens: 55, wastedNanoUsd: 100_000
  })
})

t.test('a call that ends because its key does costs what the provider may have done by then', async t => {
  const revoked: RecordParts = {
    usage: { total: undefined, estimate: recordedEstimate({ countPrompt: () => 50, countAnswer: () => 5 }) },
    end: { outcome: 'error', errorCode: 'invalid_api_key', status: 401 }
  }
  t.match(chargeOf(recordOf(revoked), models, false), {
    usage: { promptTokens: 50 }, nanoUsd: 50_000, isEstimated: true
  })
  const refused = recordOf(revoked, { routing: { requestCount: 0, attemptsAtWork: 0 } })
  t.match(chargeOf(refused, models, false), { usage: undefined, nanoUsd: 0 }, 'one refused for its own key')
})

t.test('under a strict budget, an interrupted call costs its whole reservation', async t => {
  const strict: RecordParts = { cost: { maxCostNanoUsd: 5_000_000 } }
  t.match(chargeOf(recordOf(strict), models, true), { nanoUsd: 5_000_000, isEstimated: true })
  t.match(chargeOf(recordOf(strict), models, false), { nanoUsd: usageNanoUsd, isEstimated: false })
  t.match(chargeOf(recordOf(), models, true), { nanoUsd: usageNanoUsd, isEstimated: false })
  t.equal(interruptedCost(recordOf({ cost: { maxCostNanoUsd: 5 } }), usageNanoUsd), usageNanoUsd)
})

t.test('a receipt is charged as agreed, and a fetched answer the difference', async t => {
  t.match(chargeOf(recordOf({ cost: { chargedNanoUsd: 300_000 } }), models, false), {
    nanoUsd: 300_000, isEstimated: true
  })
  t.equal(chargeOf(recordOf({ cost: { refundedNanoUsd: 300_000 } }), models, false).nanoUsd, -100_000)
})
