/** Reads LiteLLM's price map (`model_prices_and_context_window.json`) as a catalogue. */

import { isObject, nonEmptyText, property, type JsonObject } from '../json/type-guards.ts'
import type { Catalogue, CatalogueModel } from '../../schemas/catalogue.ts'
import { litellmProviders, serviceAt } from './litellm-providers.ts'
import type { Price } from '../../schemas/price.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

/** USD per unit in LiteLLM's map, with our field and the units that its price is for. */
const tokenFields: ReadonlyArray<readonly [field: string, ours: keyof Price]> = [
  ['input_cost_per_token', 'input'],
  ['output_cost_per_token', 'output'],
  ['cache_read_input_token_cost', 'cached_input'],
  ['cache_creation_input_token_cost', 'cache_write'],
  ['cache_creation_input_token_cost_above_1hr', 'cache_write_hour'],
  ['input_cost_per_audio_token', 'audio_input'],
  ['output_cost_per_audio_token', 'audio_output'],
  ['input_cost_per_image_token', 'image_input']
]
const unitFields: ReadonlyArray<readonly [field: string, ours: keyof Price, units: number]> = [
  ['input_cost_per_second', 'per_minute', 60],
  ['input_cost_per_character', 'per_million_characters', 1e6],
  ['ocr_cost_per_page', 'per_thousand_pages', 1000]
]

const capabilityOf: Readonly<Record<string, CatalogueModel['can'][number]>> = {
  supports_vision: 'vision',
  supports_function_calling: 'tools',
  supports_response_schema: 'structured_output',
  supports_reasoning: 'thinking',
  supports_audio_input: 'audio'
}

const modeCapabilities: ReadonlyMap<string, CatalogueModel['can']> = new Map([
  ['chat', ['text', 'streaming']],
  ['responses', ['text', 'streaming']],
  ['completion', ['text', 'streaming']],
  ['image_generation', ['image_generation']],
  ['audio_transcription', ['audio']],
  ['audio_speech', ['audio']]
])

/** Returns true for an object most of whose entries name a provider of LiteLLM. */
export function isPriceMap (value: unknown): value is JsonObject {
  if (!isObject(value)) return false
  const entries = Object.values(value)
  return entries.filter(entry => isObject(entry) && 'litellm_provider' in entry).length > entries.length / 2
}

/**
 * Returns the models of a price map that can be served here. Those of a service without its own kind are
 * named by the service, and belong to each provider with its address.
 *
 * @param builtIn models whose other facts are kept: the map has little besides prices and limits
 * @param source of the prices
 * @param asOf day of the prices, `YYYY-MM-DD`
 */
export function catalogueOf (
  map: JsonObject, builtIn: readonly CatalogueModel[], source: string, asOf: string
): Catalogue {
  const known = new Map(builtIn.map(model => [model.id, model]))
  const models = new Map<string, CatalogueModel>()
  for (const [name, entry] of Object.entries(map)) {
    const provider = isObject(entry) ? String(entry['litellm_provider']) : ''
    const { kind, baseUrl } = litellmProviders.get(provider) ?? {}
    if (!isObject(entry) || kind === undefined || /\s/.test(name)) continue
    const service = baseUrl === undefined ? kind : serviceAt(baseUrl)
    const id = `${service}/${withoutPrefix(name, provider)}`
    const own = priceOf(entry)
    const price = own === undefined ? {} : { price: { ...own, source, as_of: asOf } }
    models.set(id, { ...known.get(id) ?? describe(entry, id, kind), ...price })
  }
  return { families: [], models: [...models.values()] }
}

/** Returns the price of an entry; `undefined` if it has none. */
export function priceOf (entry: JsonObject): Price | undefined {
  const price = { ...tieredPrice(entry['tiered_pricing']), ...tokenPrices(entry, '') }
  for (const [field, ours, units] of unitFields) {
    const usd = usdOf(entry[field], units)
    if (usd !== undefined) price[ours] = usd
  }
  if (entry['mode'] === 'image_generation') {
    const image = usdOf(entry['output_cost_per_image'] ?? entry['input_cost_per_image'], 1)
    if (image !== undefined) price['images'] = [{ usd: image }]
    // The output of these models is images.
    const token = usdOf(entry['output_cost_per_image_token'], 1e6)
    if (token !== undefined) price['output'] = token
  }
  const { search_context_cost_per_query: searches } = entry
  const search = usdOf(isObject(searches) ? searches['search_context_size_medium'] : undefined, 1000)
  if (search !== undefined) price['per_thousand_searches'] = search
  const [, thousands] = Object.keys(entry).flatMap(
    field => /^input_cost_per_token_above_(\d+)k_tokens$/.exec(field) ?? []
  )
  if (thousands !== undefined) {
    price['long_prompt'] = {
      above_prompt_tokens: Number(thousands) * 1000, ...tokenPrices(entry, `_above_${thousands}k_tokens`)
    }
  }
  return Object.keys(price).length === 0 ? undefined : price // its fields are those of the tables
}

/** Returns prices by the size of the prompt if they have at most two tiers, the maximum here. */
function tieredPrice (tiers: unknown): Record<string, unknown> {
  if (!Array.isArray(tiers) || tiers.length > 2) return {}
  const [base, long] = tiers.filter(isObject)
  if (base === undefined) return {}
  const above = property(long?.['range'], '0')
  if (long === undefined || typeof above !== 'number') return tokenPrices(base, '')
  return { ...tokenPrices(base, ''), long_prompt: { above_prompt_tokens: above, ...tokenPrices(long, '') } }
}

function tokenPrices (entry: JsonObject, suffix: string): Record<string, unknown> {
  return Object.fromEntries(tokenFields.flatMap(([field, ours]) => {
    const usd = usdOf(entry[field + suffix], 1e6)
    return usd === undefined ? [] : [[ours, usd]]
  }))
}

/** Returns the price of a number of units, without rounding errors. */
function usdOf (perUnit: unknown, units: number): number | undefined {
  if (typeof perUnit !== 'number' || !(perUnit >= 0)) return undefined
  return Math.min(1_000_000, Number((perUnit * units).toPrecision(12)))
}

/** Returns the name at the provider: `gemini/gemini-2.5-pro` of `gemini`, `azure/gpt-4o` of `azure`. */
function withoutPrefix (name: string, provider: string): string {
  return name.startsWith(`${provider}/`) ? name.slice(provider.length + 1) : name
}

function describe (entry: JsonObject, id: string, kind: ProviderKind): CatalogueModel {
  const mode = nonEmptyText(entry['mode']) ?? 'chat'
  const supported = Object.entries(capabilityOf).flatMap(([field, name]) =>
    entry[field] === true ? [name] : []
  )
  const [input, output] = [tokensOf(entry['max_input_tokens']), tokensOf(entry['max_output_tokens'])]
  return {
    id,
    display_name: id.slice(id.indexOf('/') + 1),
    description: `From the price map: ${mode}.`,
    status: 'enabled',
    upstream_api: kind,
    can: [...new Set([...modeCapabilities.get(mode) ?? [], ...supported])],
    ...input !== undefined && { input_token_limit: input },
    ...output !== undefined && { output_token_limit: output }
  }
}

function tokensOf (value: unknown): number | undefined {
  const tokens = Number(value)
  return Number.isInteger(tokens) && tokens > 0 ? tokens : undefined
}
