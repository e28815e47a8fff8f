import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { builtInModels, readCatalogue } from '../../lib/models/catalogue.ts'
import { catalogueOf, isPriceMap, priceOf } from '../../lib/models/price-map.ts'

const { HEADGATE_TEST_LITELLM: python = '' } = process.env

const map = {
  sample_spec: { litellm_provider: 'one of the providers', input_cost_per_token: 0 },
  'gpt-5': {
    litellm_provider: 'openai',
    mode: 'chat',
    input_cost_per_token: 1.25e-6,
    output_cost_per_token: 1e-5
  },
  'azure/gpt-4o': {
    litellm_provider: 'azure',
    input_cost_per_token: 2.5e-6,
    max_input_tokens: 128_000,
    max_output_tokens: '16384',
    supports_vision: true,
    supports_function_calling: true
  },
  'gemini/gemini-9': {
    litellm_provider: 'gemini',
    mode: 'chat',
    input_cost_per_token: 1e-6,
    input_cost_per_token_above_200k_tokens: 2e-6,
    cache_read_input_token_cost_above_200k_tokens: 2.5e-7
  },
  'whisper-9': { litellm_provider: 'openai', mode: 'audio_transcription', input_cost_per_second: 0.0001 },
  'dall-e-9': { litellm_provider: 'openai', mode: 'image_generation', output_cost_per_image: 0.04 },
  'command-9': { litellm_provider: 'cohere_chat', mode: 'chat', input_cost_per_token: 1e-6 },
  'bedrock/x': { litellm_provider: 'bedrock', input_cost_per_token: 1 },
  'a b': { litellm_provider: 'openai', input_cost_per_token: 1 }
}

t.test('a price map is recognised by its entries', async t => {
  t.ok(isPriceMap(map))
  for (const other of [
    {},
    [],
    null,
    { models: [], families: [] },
    { a: { litellm_provider: 'x' }, b: {}, c: {} }
  ]) {
    t.notOk(isPriceMap(other))
  }
})

t.test(
  'models of supported providers get prices and limits, and other known data is kept',
  async t => {
    const catalogue = catalogueOf(map, builtInModels, 'prices.json', '2026-11-27')
    t.same(
      catalogue.models.map(({ id }) => id),
      [
        'openai/gpt-5',
        'azure-openai/gpt-4o',
        'google/gemini-9',
        'openai/whisper-9',
        'openai/dall-e-9',
        'cohere/command-9'
      ]
    )
    const [gpt, azure] = catalogue.models
    const known = builtInModels.find(({ id }) => id === 'openai/gpt-5')
    t.match(gpt, {
      display_name: known?.display_name,
      can: known?.can,
      price: { input: 1.25, output: 10, source: 'prices.json', as_of: '2026-11-27' }
    })
    t.match(azure, {
      can: ['text', 'streaming', 'vision', 'tools'],
      input_token_limit: 128_000,
      output_token_limit: 16_384
    })
    t.doesNotThrow(() => readCatalogue(catalogue), 'it is a valid catalogue')
  }
)

t.test('every unit has its price', async t => {
  t.same(priceOf(map['gemini/gemini-9']), {
    input: 1,
    long_prompt: { above_prompt_tokens: 200_000, input: 2, cached_input: 0.25 }
  })
  const tier = (usd: number, from: number, to: number) => ({ input_cost_per_token: usd, range: [from, to] })
  t.same(priceOf({ tiered_pricing: [tier(1e-6, 0, 256_000), tier(3e-6, 256_000, 1_000_000)] }), {
    input: 1,
    long_prompt: { above_prompt_tokens: 256_000, input: 3 }
  })
  t.same(priceOf({ tiered_pricing: [tier(1e-6, 0, 1000)] }), { input: 1 })
  t.same(
    priceOf({ tiered_pricing: [tier(1e-6, 0, 1000), tier(2e-6, 1000, 2000), tier(3e-6, 2000, 3000)] }),
    undefined,
    'there are no prices of three tiers here'
  )
  t.same(priceOf(map['whisper-9']), { per_minute: 0.006 })
  t.same(priceOf(map['dall-e-9']), { images: [{ usd: 0.04 }] })
  const ofImages = { output_cost_per_token: 1.2e-5, output_cost_per_image_token: 1.2e-4 }
  t.same(
    priceOf({ ...ofImages, mode: 'image_generation' }),
    { output: 120 },
    'all output of such a model counts as images'
  )
  t.same(priceOf({ ...ofImages, mode: 'chat' }), { output: 12 })
  t.same(
    priceOf({
      ocr_cost_per_page: 0.001,
      input_cost_per_character: 1.5e-5,
      search_context_cost_per_query: { search_context_size_medium: 0.025 }
    }),
    { per_million_characters: 15, per_thousand_pages: 1, per_thousand_searches: 25 }
  )
  t.same(
    priceOf({ input_cost_per_token: 'x', output_cost_per_token: -1, cache_read_input_token_cost: NaN }),
    undefined
  )
})

t.test(
  "the map of LiteLLM's package is a valid catalogue",
  { skip: python === '' && 'HEADGATE_TEST_LITELLM is no Python with litellm[proxy]' },
  async t => {
    const find = 'import importlib.util as u; print(u.find_spec("litellm").submodule_search_locations[0])'
    const { stdout } = await promisify(execFile)(python, ['-c', find])
    const file = join(stdout.trim(), 'model_prices_and_context_window_backup.json')
    const map: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (!isPriceMap(map)) throw new Error('it is no price map')
    const { models } = readCatalogue(catalogueOf(map, builtInModels, 'prices.json', '2026-11-27'))
    for (const id of ['openai/gpt-4o', 'anthropic/claude-opus-4-5', 'moonshot/kimi-k2.5']) {
      t.ok(models.find(model => model.id === id)?.price?.input, id)
    }
  }
)

t.test('a mode named like a built-in property is unknown', async t => {
  const { models: [model] } = catalogueOf(
    { 'x-9': { litellm_provider: 'openai', mode: 'constructor' } }, [], 'prices.json', '2026-11-27'
  )
  t.same(model?.can, [])
})
