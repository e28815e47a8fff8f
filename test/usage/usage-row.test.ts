import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { usageRow } from '../../lib/usage/usage-row.ts'
import { routedCall } from '../support/stages.ts'
import { recordedEstimate } from '../support/usage.ts'
import type { Call } from '../../lib/core/call.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

const asOf = '2026-01-01'
const models = {
  find: (id: string): ModelEntry | undefined => id === 'one/m'
    ? { ...unknownModelEntry('one', 'm', 'openai'), price: { input: 1, output: 10, asOf } }
    : undefined
}

function rowOf (parts: Partial<CallRecord>): UsageRow | undefined {
  const record = Object.assign(new CallRecord('chat'), { keyId: 'key-1', modelId: 'one/m', providerId: 'one', attempts: 1, status: 200 }, parts)
  const call: Call = { ...routedCall({}), record, receivedAtMs: performance.now() - 50 }
  return usageRow(call, models)
}

const usage = { promptTokens: 100, completionTokens: 10, totalTokens: 110, cachedTokens: 5 }

t.test('a call is a row with everything that is known of it, compared in full', async t => {
  const row = rowOf({ usage, requestedModel: 'm', streamed: true, firstByteMs: 12.4, outcome: 'ok' })
  t.ok(row !== undefined && row.duration_ms >= 50 && Math.abs(row.at_ms - Date.now()) < 5000)
  t.strictSame({ ...row, id: '', at_ms: 0, duration_ms: 0 }, {
    id: '', call_id: 'call-1', at_ms: 0, key_id: 'key-1', endpoint: 'chat', requested_model: 'm', model: 'one/m', provider: 'one', outcome: 'ok', status: 200,
    error_code: null, streamed: 1, attempts: 1, turns: null, prompt_tokens: 100, completion_tokens: 10, cached_tokens: 5, cache_write_tokens: null, searches: null,
    reasoning_tokens: null, estimated: 0, pages: null, audio_ms: null, characters: null, images: null, image_size: null, image_quality: null,
    cost_nano_usd: 200_000, own_provider_key: 0, duration_ms: 0, first_byte_ms: 12, steps: null
  })
})

t.test('a call without a valid key, and a probe, are no rows', async t => {
  t.equal(rowOf({ keyId: undefined }), undefined)
  t.equal(usageRow({ ...routedCall({}), record: Object.assign(new CallRecord('health'), { keyId: 'key-1' }) }, models), undefined)
})

t.test('nothing is paid where the caller pays, no provider was called, or the answer comes with another call', async t => {
  for (const parts of [{ ownProviderKey: true }, { attempts: 0 }, { deferred: true }]) t.equal(rowOf({ usage, ...parts })?.cost_nano_usd, 0, JSON.stringify(parts))
  t.equal(rowOf({ usage, modelId: 'one/other' })?.cost_nano_usd, null, 'a model without a price has no known cost')
})

t.test('what was not reported is estimated once a provider may have begun, and is marked', async t => {
  const estimate = (parts: Partial<CallRecord>) => {
    const row = rowOf({ estimate: recordedEstimate({ countPrompt: () => 50 }), ...parts })
    return [row?.prompt_tokens, row?.completion_tokens, row?.estimated, row?.cost_nano_usd]
  }
  t.same(estimate({ outputCharacters: 9 }), [50, 3, 1, 80_000])
  t.same(estimate({ outcome: 'client_closed' }), [50, 0, 1, 50_000])
  t.same(estimate({ outcome: 'error' }), [null, null, 0, 0], 'a failure before any output is not billed')
  t.same(estimate({ outcome: 'error', outputCharacters: 4 }), [50, 1, 1, 60_000])
})

t.test('a count that cannot be is not known, and one that is a guess is used instead', async t => {
  const row = rowOf({ usage: { ...usage, promptTokens: -1 }, outputCharacters: 4, pages: 1e300, audioSeconds: Number.NaN })
  t.same([row?.prompt_tokens, row?.completion_tokens, row?.estimated, row?.pages, row?.audio_ms], [0, 1, 1, null, null])
})

t.test('the answers of a loop are paid each by its own length', async t => {
  const one = { promptTokens: 100, completionTokens: 10, totalTokens: 110 }
  const sum = { promptTokens: 200, completionTokens: 20, totalTokens: 220 }
  t.equal(rowOf({ usage: sum, answers: [{ earlier: undefined, usage: one }, { earlier: one, usage: one }] })?.cost_nano_usd, 400_000)
})

t.test('sizes of images are noted with images only, seconds as milliseconds', async t => {
  const row = rowOf({ images: 2, imageSize: '1x1', imageQuality: 'low', audioSeconds: 1.5, spokenCharacters: 7 })
  t.same([row?.images, row?.image_size, row?.image_quality, row?.audio_ms, row?.characters], [2, '1x1', 'low', 1500, 7])
  t.same(rowOf({ imageSize: '1x1' })?.image_size, null)
})
