/** Costs of calls in billionths of a dollar, so that sums are exact. */

import { camelCase } from '../validation/camel-case-schema.ts'
import type { Price } from '../core/model.ts'
import { amountOf, type Images, type Units, type Usage } from '../core/usage.ts'
import {
  tokenKinds,
  nonTokenUnits,
  unitsBesideTokens,
  type BilledUnit,
  type TokenKind,
  type TokenKindName,
  type UnitName
} from '../../schemas/billed-units.ts'

type TokenPrices = Omit<NonNullable<Price['longPrompt']>, 'abovePromptTokens'>
/** An amount, and its unit price in billionths of a dollar. */
type Item = readonly [amount: number, nanoUsd: number | undefined]

const nano = 1e9
/** One dollar per million tokens is a thousand billionths of a dollar per token. */
const perMillion = 1000

/**
 * Computes the cost of an answer's tokens and other billed units. Cached, audio and image tokens have
 * separate prices if these are known. Prices may depend on the length of the prompt, so pass the usage of one
 * answer, not a total.
 *
 * @returns `undefined` if a needed token price is unknown, which differs from zero
 */
export function costNanoUsd (usage: Usage, price: Price | undefined): number | undefined {
  if (price === undefined) return undefined
  const { longPrompt } = price
  // Prices without a long-prompt value apply to any length.
  const isLong = longPrompt !== undefined && usage.promptTokens > longPrompt.abovePromptTokens
  const prices: TokenPrices = isLong ? { ...price, ...longPrompt } : price
  let sum = 0
  for (const kind of wholes) {
    const cost = tokenCost(kind, usage[kind.name] ?? 0, usage, prices)
    if (cost === undefined) return undefined
    sum += cost
  }
  for (const unit of pricesBesideTokens) {
    const amount = amountOf(unit.name, usage, undefined) ?? 0
    if (amount > 0) sum += amount * (nanoPrice(price, unit) ?? 0) // free without a price
  }
  return Math.round(sum)
}

/**
 * Computes the cost of everything but tokens; `undefined` if a needed price is unknown or nothing was used.
 */
export function unitCostOf (units: Units, price: Price | undefined): number | undefined {
  const items = price === undefined ? [] : unitItems(units, price)
  return items.length === 0 ? undefined : sumOf(items)
}

/** Computes the same, with images of unknown size or quality at the highest price. */
export function maxUnitCostOf (units: Units, price: Price): number | undefined {
  const { images, ...others } = units
  if (images === undefined) return unitCostOf(others, price)
  const prices = imagePrices(images, price).map(({ usd }) => usd)
  return prices.length === 0 ? undefined : Math.round(images.count * nano * Math.max(...prices))
}

interface PricedKind {
  readonly name: TokenKindName
  readonly price: keyof TokenPrices
  readonly parts: readonly PricedKind[]
}

const wholes = pricedKinds(undefined)

/**
 * Lists the priced kinds of tokens that are parts of a kind, each with its own parts; without a kind, the
 * top-level ones.
 */
function pricedKinds (whole: string | undefined): PricedKind[] {
  return Object.entries<TokenKind>(tokenKinds).flatMap(([name, { partOf, price }]) =>
    partOf !== whole || price === undefined
      ? []
      : [
          // `Object.entries` loses the types of the keys.
          {
            name: name as TokenKindName,
            price: camelCase(price.field) as keyof TokenPrices,
            parts: pricedKinds(name)
          }
        ]
  )
}

/**
 * Returns the cost of the tokens of a kind: parts at their prices, the rest at the kind's price; `undefined`
 * if a needed price is unknown. Reported counts may overlap; no token is billed twice.
 */
function tokenCost (
  kind: PricedKind,
  tokens: number,
  usage: Usage,
  prices: TokenPrices,
  ofWhole?: number
): number | undefined {
  const usdPerMillion = prices[kind.price] ?? ofWhole
  let left = tokens
  let sum = 0
  for (const part of kind.parts) {
    const taken = Math.min(usage[part.name] ?? 0, left)
    if (taken <= 0) continue
    left -= taken
    const cost = tokenCost(part, taken, usage, prices, usdPerMillion)
    if (cost === undefined) return undefined
    sum += cost
  }
  if (left === 0) return sum
  return usdPerMillion === undefined ? undefined : sum + left * usdPerMillion * perMillion
}

/** A unit with a scalar price. */
interface CountedPrice {
  readonly name: UnitName
  readonly price: keyof Price
  readonly per: number
}

const pricesBesideTokens = countedPrices(unitsBesideTokens)
const nonTokenPrices = countedPrices(nonTokenUnits)

function countedPrices (units: Readonly<Record<string, BilledUnit>>): CountedPrice[] {
  return Object.entries(units).flatMap(
    ([
      name,
      {
        price: { field, per }
      }
    ]) =>
      // as in `pricedKinds`
      per === undefined ? [] : [{ name: name as UnitName, price: camelCase(field) as keyof Price, per }]
  )
}

function unitItems (units: Units, price: Price): Item[] {
  const { images } = units
  const items: Item[] =
    images === undefined ? [] : [[images.count, nanoOf(imagePrices(images, price)[0]?.usd, 1)]]
  for (const unit of nonTokenPrices) {
    const amount = amountOf(unit.name, undefined, units)
    if (amount !== undefined) items.push([amount, nanoPrice(price, unit)])
  }
  return items
}

function nanoPrice (price: Price, { price: field, per }: CountedPrice): number | undefined {
  return nanoOf(price[field] as number | undefined, per) // a scalar price
}

function nanoOf (usd: number | undefined, per: number): number | undefined {
  return usd === undefined ? undefined : (usd * nano) / per
}

/** Lists the possible prices of images, in order. */
function imagePrices (
  { size, quality }: Images,
  { images: prices = [] }: Price
): NonNullable<Price['images']> {
  const fits = (wanted: string | undefined, said: string | undefined): boolean =>
    said === undefined || wanted === undefined || wanted === 'auto' || said === wanted
  return prices.filter(price => fits(quality, price.quality) && fits(size, price.size))
}

/** Sums the cost of all items. Rounds once, so that rounding errors do not accumulate. */
function sumOf (items: readonly Item[]): number | undefined {
  let sum = 0
  for (const [amount, each] of items) {
    if (amount === 0 || each === 0) continue
    if (each === undefined) return undefined
    sum += amount * each
  }
  return Math.round(sum)
}
