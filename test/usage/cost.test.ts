import t from 'tap'
import { catalogue } from '../../lib/models/catalogue.ts'
import { costNanoUsd, maxUnitCostOf, unitCostOf } from '../../lib/usage/cost.ts'
import type { Price } from '../../lib/core/model.ts'
import type { Usage } from '../../lib/core/usage.ts'

const asOf = '2026-01-01'

function usage (promptTokens: number, completionTokens: number, parts: Partial<Usage> = {}): Usage {
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, ...parts }
}

function priceOf (id: string): Price {
  const price = catalogue.find(model => model.id === id)?.price
  if (price === undefined) throw new Error(`no price of ${id}`)
  return price
}

t.test("cache-write tokens cost the provider's price for them", async t => {
  const price = { input: 2, output: 10, cachedInput: 0.2, cacheWrite: 2.5, cacheWriteHour: 4, asOf }
  t.equal(
    costNanoUsd(
      usage(1000, 10, { cachedTokens: 100, cacheWriteTokens: 600, cacheWriteHourTokens: 200 }),
      price
    ),
    100 * 200 + 400 * 2500 + 200 * 4000 + 300 * 2000 + 10 * 10_000
  )
  t.equal(
    costNanoUsd(usage(1000, 0, { cacheWriteTokens: 600 }), { input: 2, asOf }),
    2_000_000,
    'without a price of its own, that of input'
  )
  t.equal(
    costNanoUsd(usage(1000, 0, { cacheWriteTokens: 5000, cachedTokens: 5000 }), price),
    200_000,
    'no token twice'
  )
  t.equal(costNanoUsd(usage(1000, 0, { cachedTokens: -5 }), price), 2_000_000)
})

t.test('the length of the prompt selects the prices', async t => {
  const gemini = priceOf('google/gemini-2.5-pro')
  t.equal(costNanoUsd(usage(200_000, 1000), gemini), 200_000 * 1250 + 1000 * 10_000)
  t.equal(
    costNanoUsd(usage(200_001, 1000), gemini),
    200_001 * 2500 + 1000 * 15_000,
    'all tokens of the answer'
  )
  t.equal(costNanoUsd(usage(300_000, 0, { cachedTokens: 300_000 }), gemini), 300_000 * 250)
  t.equal(
    costNanoUsd(usage(300_000, 10, { cacheWriteTokens: 300_000 }), priceOf('anthropic/claude-sonnet-4-5')),
    300_000 * 7500 + 10 * 22_500
  )
})

t.test('audio, images and searches have their own prices', async t => {
  const price = {
    input: 1,
    output: 2,
    audioInput: 10,
    imageInput: 4,
    audioOutput: 20,
    perThousandSearches: 10,
    asOf
  }
  t.equal(
    costNanoUsd(
      usage(100, 10, {
        promptAudioTokens: 50,
        promptImageTokens: 20,
        completionAudioTokens: 4,
        searches: 3
      }),
      price
    ),
    50 * 10_000 + 20 * 4000 + 30 * 1000 + 4 * 20_000 + 6 * 2000 + 3 * 10_000_000
  )
  t.equal(
    costNanoUsd(usage(1, 0, { searches: 1 }), { input: 1, asOf }),
    1000,
    'a search of unknown price leaves the rest known'
  )
})

t.test('units are charged separately', async t => {
  t.equal(unitCostOf({ characters: 1000 }, priceOf('openai/tts-1')), 15_000_000)
  t.equal(unitCostOf({ audioSeconds: 90 }, priceOf('openai/whisper-1')), 9_000_000)
  t.equal(unitCostOf({ pages: 3 }, priceOf('mistral/mistral-ocr-latest')), 12_000_000)
  t.equal(unitCostOf({ pages: 3 }, priceOf('openai/gpt-5')), undefined)
  t.equal(unitCostOf({}, priceOf('openai/tts-1')), undefined)
})

t.test('images are charged by size and quality', async t => {
  const price = priceOf('openai/gpt-image-1')
  const images = (parts: object): Parameters<typeof unitCostOf>[0] => ({ images: { count: 2, ...parts } })
  t.equal(unitCostOf(images({ quality: 'high', size: '1024x1536' }), price), 500_000_000)
  t.equal(unitCostOf(images({ quality: 'low', size: '1024x1024' }), price), 22_000_000)
  t.equal(maxUnitCostOf(images({ quality: 'low', size: 'auto' }), price), 32_000_000)
  t.equal(maxUnitCostOf(images({}), price), 500_000_000)
  t.equal(unitCostOf(images({ quality: 'ultra' }), price), undefined)
  t.equal(maxUnitCostOf(images({ quality: 'ultra' }), price), undefined)
  t.equal(
    unitCostOf(images({}), priceOf('openai/dall-e-3')),
    80_000_000,
    'without a size and a quality, the first'
  )
})

t.test('costs are whole billionths of a dollar; what has no price has no cost', async t => {
  const usage = { promptTokens: 1000, completionTokens: 10, totalTokens: 1010 }
  const asOf = '2025-11-20'
  const rows: ReadonlyArray<
    readonly [Parameters<typeof costNanoUsd>[0], Parameters<typeof costNanoUsd>[1], number | undefined]
  > = [
    [usage, undefined, undefined],
    [usage, { input: 1.25, output: 10, asOf }, 1_350_000],
    [usage, { input: 1.25, asOf }, undefined],
    [{ ...usage, completionTokens: 0 }, { input: 0.02, asOf }, 20_000],
    [{ ...usage, cachedTokens: 600 }, { input: 1, cachedInput: 0.1, output: 0, asOf }, 460_000],
    [{ ...usage, cachedTokens: 600 }, { input: 1, output: 0, asOf }, 1_000_000],
    [{ ...usage, cachedTokens: 5000 }, { input: 1, cachedInput: 0, output: 0, asOf }, 0],
    [{ promptTokens: 1, completionTokens: 0, totalTokens: 1 }, { input: 0.0004, asOf }, 0]
  ]
  for (const [given, price, cost] of rows) t.equal(costNanoUsd(given, price), cost)
})

t.test('cache writes, long prompts and sound have the prices of their pages', async t => {
  for (const id of [
    'openai/gpt-6.2-sol', 'openai/gpt-6.1-sol', 'openai/gpt-6-astra', 'openai/gpt-6-sol', 'openai/gpt-6-luna',
    'openai/gpt-5.6-sol', 'openai/gpt-5.6-luna'
  ]) {
    const { input = 0, output = 0, cacheWrite, longPrompt } = priceOf(id)
    t.equal(cacheWrite, 1.25 * input, id)
    t.match(longPrompt, { abovePromptTokens: 272_000, input: 2 * input, cacheWrite: 2.5 * input }, id)
    t.ok(Math.abs((longPrompt?.output ?? 0) - 1.5 * output) < 1e-9, id)
  }
  for (const [id, short, long] of [['xai/grok-4.7', 2, 4], ['xai/grok-4.3', 1.25, 2.5]] as const) {
    t.equal(costNanoUsd(usage(199_999, 0), priceOf(id)), 199_999 * short * 1000, id)
    t.equal(costNanoUsd(usage(200_000, 0), priceOf(id)), 200_000 * long * 1000, id)
  }
  const sound = usage(100_000, 0, { promptAudioTokens: 100_000 })
  t.equal(costNanoUsd(sound, priceOf('google/gemini-3-flash-preview')), 1e8)
})
