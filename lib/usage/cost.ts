/** Costs of calls, in billionths of a dollar: sums of them are exact. */

import type { Price } from '../core/model.ts'
import type { Images, Units, Usage } from '../core/usage.ts'

type TokenPrices = Pick<Price, 'input' | 'output' | 'cachedInput' | 'cacheWrite' | 'cacheWriteHour' | 'audioInput' | 'audioOutput' | 'imageInput'>
/** An amount, and the unit price in billionths of a dollar. */
type Item = readonly [amount: number, nanoUsd: number | undefined]

const nano = 1e9
/** A dollar per million tokens is a thousand billionths of a dollar per token. */
const perMillion = 1000

/**
 * Computes the cost of an answer's tokens and searches. Tokens read from a cache or written to one, and those of
 * audio and images, have prices of their own, where these are known. The length of the prompt decides
 * which prices count: pass the usage of one answer, not that of several.
 *
 * @returns `undefined` where a needed price of tokens is not known, which is not zero
 */
export function costNanoUsd (usage: Usage, price: Price | undefined): number | undefined {
  if (price === undefined) return undefined
  const prices = pricesFor(usage.promptTokens, price)
  const { perThousandSearches = 0 } = price
  return sumOf([...tokenItems(usage, prices), [usage.searches ?? 0, perThousandSearches * nano / 1000]])
}

/** Computes the cost of everything but tokens; `undefined` where a needed price is not known or nothing was used. */
export function unitCostOf (units: Units, price: Price | undefined): number | undefined {
  const items = price === undefined ? [] : unitItems(units, price)
  return items.length === 0 ? undefined : sumOf(items)
}

/** Computes the same, of images whose size or quality is not known at the highest price. */
export function maxUnitCostOf (units: Units, price: Price): number | undefined {
  const { images, ...others } = units
  if (images === undefined) return unitCostOf(others, price)
  const prices = imagePrices(images, price).map(({ usd }) => usd)
  return prices.length === 0 ? undefined : Math.round(images.count * nano * Math.max(...prices))
}

/** Returns the prices for a prompt of so many tokens; prices without a value for long prompts stay the same. */
function pricesFor (promptTokens: number, price: Price): TokenPrices {
  const { longPrompt } = price
  return longPrompt === undefined || promptTokens <= longPrompt.abovePromptTokens ? price : { ...price, ...longPrompt }
}

function tokenItems (usage: Usage, prices: TokenPrices): Item[] {
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0, cacheWriteHourTokens = 0 } = usage
  const { promptAudioTokens = 0, promptImageTokens = 0, completionAudioTokens = 0 } = usage
  const { input, output, cachedInput = input, cacheWrite = input, cacheWriteHour = cacheWrite } = prices
  const { audioInput = input, audioOutput = output, imageInput = input } = prices
  let rest = promptTokens
  // Reported counts may overlap; no token is billed twice.
  const part = (tokens: number, each: number | undefined): Item => {
    const taken = tokens > 0 ? Math.min(tokens, rest) : 0
    rest -= taken
    return item(taken, each)
  }
  const hour = Math.min(cacheWriteHourTokens, cacheWriteTokens)
  const sound = completionAudioTokens > 0 ? Math.min(completionAudioTokens, completionTokens) : 0
  return [
    part(cachedTokens, cachedInput), part(hour, cacheWriteHour), part(cacheWriteTokens - hour, cacheWrite),
    part(promptAudioTokens, audioInput), part(promptImageTokens, imageInput), part(rest, input),
    item(sound, audioOutput), item(completionTokens - sound, output)
  ]
}

function item (tokens: number, usdPerMillion: number | undefined): Item {
  return [tokens, usdPerMillion === undefined ? undefined : usdPerMillion * perMillion]
}

function unitItems ({ images, audioSeconds, characters, pages }: Units, price: Price): Item[] {
  const { perMinute, perMillionCharacters, perThousandPages } = price
  const items: Array<Item | undefined> = [
    images && [images.count, nanoOf(imagePrices(images, price)[0]?.usd, 1)],
    audioSeconds === undefined ? undefined : [audioSeconds, nanoOf(perMinute, 60)],
    characters === undefined ? undefined : [characters, nanoOf(perMillionCharacters, 1e6)],
    pages === undefined ? undefined : [pages, nanoOf(perThousandPages, 1000)]
  ]
  return items.filter(found => found !== undefined)
}

function nanoOf (usd: number | undefined, per: number): number | undefined {
  return usd === undefined ? undefined : usd * nano / per
}

/** Lists the prices that images can have, in order. */
function imagePrices ({ size, quality }: Images, { images: prices = [] }: Price): NonNullable<Price['images']> {
  const fits = (wanted: string | undefined, said: string | undefined): boolean => (
    said === undefined || wanted === undefined || wanted === 'auto' || said === wanted
  )
  return prices.filter(price => fits(quality, price.quality) && fits(size, price.size))
}

/** Adds up the cost of all items; rounded once, so that fractions of a billionth do not add up. */
function sumOf (items: readonly Item[]): number | undefined {
  let sum = 0
  for (const [amount, each] of items) {
    if (amount === 0 || each === 0) continue
    if (each === undefined) return undefined
    sum += amount * each
  }
  return Math.round(sum)
}
