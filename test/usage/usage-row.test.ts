import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import type { UsageFacts } from '../../lib/core/usage-facts.ts'
import { addUsage, type Usage } from '../../lib/core/usage.ts'
import { usageRow } from '../../lib/usage/usage-row.ts'
import { routedCall } from '../support/stages.ts'
import { recordedEstimate } from '../support/usage.ts'
import type { Call } from '../../lib/core/call.ts'
import type { ModelEntry, Price } from '../../lib/core/model.ts'
import { emptyRow } from '../../lib/stores/usage-columns.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import { fillRecord, type RecordParts } from '../support/fill-record.ts'

const asOf = '2026-01-01'
const price = { input: 1, output: 10, asOf }
const prices: Readonly<Record<string, Price>> = {
  'one/m': price,
  'one/images': { asOf, images: [{ usd: 0.04 }] },
  'one/tokens-free': { asOf, input: 0, output: 0, images: [{ usd: 0.04 }] },
  'one/long-paid': { asOf, input: 0, output: 0, longPrompt: { abovePromptTokens: 50, input: 2 } },
  'one/free': { asOf, input: 0, output: 0, longPrompt: { abovePromptTokens: 50, input: 0 } },
  'one/long': { ...price, longPrompt: { abovePromptTokens: 200_000, input: 2, output: 20 } }
}
const models = {
  find: (id: string): ModelEntry | undefined => {
    const known = prices[id]
    return known && { ...unknownModelEntry('one', 'm', 'openai'), price: known }
  }
}

function rowOf (...parts: readonly RecordParts[]): UsageRow | undefined {
  const record = fillRecord(
    new CallRecord('chat'),
    {
      caller: { keyId: 'key-1' },
      routing: { modelId: 'one/m', providerId: 'one', requestCount: 1, attemptsAtWork: 1 },
      end: { status: 200 }
    },
    ...parts
  )
  const call: Call = { ...routedCall({}), record, receivedAtMs: performance.now() - 50 }
  return usageRow(call, models)
}

const usage = { promptTokens: 100, completionTokens: 10, totalTokens: 110, cachedTokens: 5 }

t.test('a call becomes a row with everything known of it, compared in full', async t => {
  const row = rowOf({
    usage: { total: usage },
    request: { requestedModel: 'm', isStreamed: true },
    times: { firstByteMs: 12.4 },
    end: { outcome: 'ok' }
  })
  t.ok(row !== undefined && row.duration_ms >= 50 && Math.abs(row.at_ms - Date.now()) < 60_000)
  t.strictSame(
    { ...row, id: '', at_ms: 0, duration_ms: 0 },
    {
      ...emptyRow,
      id: '',
      call_id: 'call-1',
      at_ms: 0,
      key_id: 'key-1',
      endpoint: 'chat',
      requested_model: 'm',
      model: 'one/m',
      provider: 'one',
      outcome: 'ok',
      status: 200,
      streamed: 1,
      prompt_tokens: 100,
      completion_tokens: 10,
      cached_tokens: 5,
      estimated: 0,
      cost_nano_usd: 200_000,
      first_byte_ms: 12
    }
  )
})

t.test('a call without a valid key, and a probe, leave no rows', async t => {
  t.equal(rowOf({ caller: { keyId: undefined } }), undefined)
  t.equal(
    usageRow(
      { ...routedCall({}), record: fillRecord(new CallRecord('health'), { caller: { keyId: 'key-1' } }) },
      models
    ),
    undefined
  )
})

t.test(
  'nothing is charged if the caller pays, no provider was called, or another call has the answer',
  async t => {
    const calls: readonly RecordParts[] = [
      { caller: { usesOwnProviderKey: true } },
      { routing: { requestCount: 0 } },
      { request: { isDeferred: true } }
    ]
    for (const parts of calls) {
      t.equal(rowOf({ usage: { total: usage } }, parts)?.cost_nano_usd, 0, JSON.stringify(parts))
    }
    t.equal(
      rowOf({ usage: { total: usage }, routing: { modelId: 'one/other' } })?.cost_nano_usd,
      null,
      'a model without a price has no known cost'
    )
  }
)

t.test('a model is free only if it has no price above 0', async t => {
  const one = { usage: { units: { images: { count: 1 } } } }
  t.equal(rowOf({ routing: { modelId: 'one/tokens-free' } }, one)?.cost_nano_usd, 40_000_000)
  t.equal(rowOf({ routing: { modelId: 'one/free' } }, one)?.cost_nano_usd, 0)
  const tokens = { usage: { total: usage } }
  t.equal(rowOf({ routing: { modelId: 'one/long-paid' } }, tokens)?.cost_nano_usd, 200_000)
  t.equal(rowOf({ routing: { modelId: 'one/free' } }, tokens)?.cost_nano_usd, 0)
})

t.test('missing usage is estimated once a provider may have begun, and is marked', async t => {
  const estimate = (parts: RecordParts) => {
    const row = rowOf({ usage: { estimate: recordedEstimate({ countPrompt: () => 50 }) } }, parts)
    return [row?.prompt_tokens, row?.completion_tokens, row?.estimated, row?.cost_nano_usd]
  }
  t.same(estimate({ usage: { outputCharacters: 9 } }), [50, 3, 1, 80_000])
  t.same(estimate({ end: { outcome: 'client_closed' } }), [50, 0, 1, 50_000])
  t.same(estimate({
    end: { outcome: 'error' }
  }), [null, null, 0, 0], 'a failure before any output is not billed')
  t.same(
    estimate({
      end: { outcome: 'error' },
      routing: { chosen: { providerId: 'one', modelId: 'one/m', model: 'm' } }
    }),
    [50, 0, 1, 50_000],
    'one of an answer that has begun without text is'
  )
  t.same(estimate({ end: { outcome: 'error' }, usage: { outputCharacters: 4 } }), [50, 1, 1, 60_000])
})

t.test('reported usage of a cut answer counts, in addition to its text', async t => {
  const estimate = recordedEstimate({ countPrompt: () => 50 })
  const cut = { usage: { estimate, outputCharacters: 40 }, end: { outcome: 'error' } } as const
  t.match(rowOf(cut, { usage: { reported: { requests: [usage], unreported: 0 } } }), {
    prompt_tokens: 100, completion_tokens: 10, cached_tokens: 5, estimated: 1, cost_nano_usd: 200_000
  })
  const less = { promptTokens: 100, completionTokens: 1, totalTokens: 101 }
  t.match(rowOf(cut, { usage: { reported: { requests: [less], unreported: 1 } } }), {
    prompt_tokens: 150, completion_tokens: 10, cost_nano_usd: 250_000
  })
  const openTurn = { requestCount: 0, attemptsAtWork: 0, outputCharacters: 40, countPrompt: () => 60 }
  const loop = { usage: { total: usage, isEstimated: true, openTurn } }
  t.match(rowOf(cut, loop, { usage: { reported: { requests: [less], unreported: 0 } } }), {
    prompt_tokens: 200, completion_tokens: 11, estimated: 1
  })
})

t.test('usage of abandoned requests is counted separately', async t => {
  const wasted = [
    { modelId: 'one/m', usage: undefined },
    { modelId: 'one/long', usage: { promptTokens: 3, completionTokens: 4, totalTokens: 7 } }
  ]
  const estimate = recordedEstimate({ countPrompt: () => 50, countAnswer: () => 1000 })
  t.match(rowOf({ usage: { total: usage, wasted, estimate } }), {
    prompt_tokens: 153,
    completion_tokens: 1014,
    cost_nano_usd: 200_000 + 10_050_000 + 43_000,
    wasted_tokens: 1057,
    wasted_nano_usd: 10_093_000,
    estimated: 1
  })
  t.match(rowOf({ usage: { total: usage, wasted, estimate }, caller: { usesOwnProviderKey: true } }), {
    wasted_tokens: 1057,
    wasted_nano_usd: 0,
    cost_nano_usd: 0
  })
  t.match(rowOf({ usage: { total: usage } }), { wasted_tokens: null, wasted_nano_usd: null })
  const large = { promptTokens: 3_000_000, completionTokens: 0, totalTokens: 3_000_000 }
  t.match(rowOf({
    usage: { total: usage, wasted: [{ modelId: 'one/m', usage: large }] }
  }), { wasted_nano_usd: 3_000_000_000 })
})

t.test('reported tokens of a model billed by images have no price: the estimate counts', async t => {
  const estimate = recordedEstimate({
    estimateUnits: () => ({ promptTokens: 0, completionTokens: 0, images: { count: 2 } })
  })
  t.match(rowOf({ usage: { total: usage, wasted: [{ modelId: 'one/images', usage }], estimate } }), {
    wasted_tokens: 110,
    wasted_nano_usd: 80_000_000,
    estimated: 1
  })
})

t.test('an impossible count is unknown, and an estimate is used instead', async t => {
  const row = rowOf({
    usage: {
      total: { ...usage, promptTokens: -1 },
      outputCharacters: 4,
      units: { pages: 1e300, audioSeconds: Number.NaN }
    }
  })
  t.same(
    [row?.prompt_tokens, row?.completion_tokens, row?.estimated, row?.pages, row?.audio_ms],
    [0, 1, 1, null, null]
  )
})

t.test('the answers of a loop are each charged by their own length', async t => {
  const one = { promptTokens: 100, completionTokens: 10, totalTokens: 110 }
  const sum = { promptTokens: 200, completionTokens: 20, totalTokens: 220 }
  t.equal(
    rowOf({
      usage: { total: sum, answers: [
        { earlier: undefined, usage: one },
        { earlier: one, usage: one }
      ] }
    })?.cost_nano_usd,
    400_000
  )
})

t.test(
  'a cut loop charges each turn by its length, and the open one by its estimate',
  async t => {
    const answerOf = (promptTokens: number): Usage => ({
      promptTokens,
      completionTokens: 10,
      totalTokens: promptTokens + 10
    })
    const loop = (promptTokens: readonly number[], openPrompt?: number): RecordParts => {
      const answers: Array<UsageFacts['answers'][number]> = []
      let usage: Usage | undefined
      for (const answer of promptTokens.map(answerOf)) {
        answers.push({ earlier: usage, usage: answer })
        usage = addUsage(usage, answer)
      }
      const openTurn =
        openPrompt === undefined
          ? undefined
          : { requestCount: 0, attemptsAtWork: 0, outputCharacters: 60, countPrompt: () => openPrompt }
      return {
        routing: { modelId: 'one/long' },
        usage: { total: usage, answers, isEstimated: true, openTurn, outputCharacters: 100 },
        end: { outcome: 'client_closed' }
      }
    }
    const nanoUsd = (prompt: number, completion: number, times = 1): number =>
      times * (prompt * 1000 + completion * 10_000)
    const eight = Array.from({ length: 8 }, () => 30_000)
    const rows: ReadonlyArray<
      readonly [name: string, record: readonly RecordParts[], promptTokens: number, cost: number]
    > = [
      [
        'eight turns and an open one',
        [loop(eight, 31_000)],
        271_000,
        8 * nanoUsd(30_000, 10) + nanoUsd(31_000, 10)
      ],
      ['eight turns, of which one had to be estimated', [loop(eight)], 240_000, 8 * nanoUsd(30_000, 10)],
      [
        'one turn and an open one',
        [loop([150_000], 160_000)],
        310_000,
        nanoUsd(150_000, 10) + nanoUsd(160_000, 10)
      ],
      [
        'an open one that is long itself',
        [loop([30_000, 30_000], 210_000)],
        270_000,
        2 * nanoUsd(30_000, 10) + nanoUsd(210_000, 10, 2)
      ],
      [
        'a turn whose provider has failed before any output',
        [loop(eight, 31_000), { usage: { outputCharacters: 60 }, end: { outcome: 'error' } }],
        240_000,
        8 * nanoUsd(30_000, 10)
      ],
      [
        'a first turn that is open',
        [loop([], 31_000), { usage: { estimate: recordedEstimate({ countPrompt: () => 31_000 }) } }],
        31_000,
        nanoUsd(31_000, 25)
      ],
      [
        'an estimate of all of an answer',
        [loop([]), { usage: { total: answerOf(250_000) } }],
        250_000,
        nanoUsd(250_000, 10, 2)
      ]
    ]
    for (const [name, record, promptTokens, cost] of rows) {
      const row = rowOf(...record)
      t.same([row?.prompt_tokens, row?.cost_nano_usd, row?.estimated], [promptTokens, cost, 1], name)
    }
  }
)

t.test('images are recorded with their size, seconds as milliseconds', async t => {
  const row = rowOf({
    usage: { units: { images: { count: 2, size: '1x1', quality: 'low' }, audioSeconds: 1.5, characters: 7 } }
  })
  t.same(
    [row?.images, row?.image_size, row?.image_quality, row?.audio_ms, row?.characters],
    [2, '1x1', 'low', 1500, 7]
  )
})

t.test(
  'a call that ends with its process is charged its strict reservation, or else what is known',
  async t => {
    const interrupted = (parts: RecordParts): UsageRow | undefined => {
      const record = fillRecord(
        new CallRecord('chat'),
        {
          caller: { keyId: 'key-1' },
          routing: { modelId: 'one/m', providerId: 'one', requestCount: 1, attemptsAtWork: 1 }
        },
        parts
      )
      return usageRow(
        { ...routedCall({}), record, receivedAtMs: performance.now() },
        models,
        undefined,
        'interrupted'
      )
    }
    t.match(
      interrupted({ usage: { total: usage }, cost: { maxCostNanoUsd: 5_000_000 } }),
      { cost_nano_usd: 5_000_000, estimated: 1 }
    )
    t.match(
      interrupted({ usage: { total: usage }, cost: { maxCostNanoUsd: 5 } }),
      { cost_nano_usd: 200_000 },
      'what it has used already, if that is more'
    )
    t.match(interrupted({ usage: { total: usage } }), { cost_nano_usd: 200_000, estimated: 0 })
    t.match(
      rowOf({ usage: { total: usage }, cost: { maxCostNanoUsd: 5_000_000 } }),
      { cost_nano_usd: 200_000 },
      'its end says what it cost'
    )
    t.match(
      rowOf({
        end: { isAnswerCutOff: true, outcome: 'error', errorCode: 'timeout' },
        cost: { maxCostNanoUsd: 5_000_000 }
      }),
      { cost_nano_usd: 5_000_000, estimated: 1 },
      'unless its answer was given up'
    )
    t.match(
      rowOf({ usage: { total: usage }, end: { isAnswerCutOff: true } }),
      { cost_nano_usd: 200_000, estimated: 0 }
    )
    const begun = fillRecord(new CallRecord('chat'), {
      caller: { keyId: 'key-1' },
      routing: { modelId: 'one/m' },
      request: { bodyBytes: 400 },
      cost: { maxCostNanoUsd: 7_000_000 }
    })
    t.match(usageRow({ ...routedCall({}), record: begun }, models, undefined, 'interrupted'), {
      outcome: 'interrupted',
      cost_nano_usd: 7_000_000,
      estimated: 1
    })
  }
)
