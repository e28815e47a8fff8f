/** Costs of calls, in billionths of a dollar: sums of them are exact. */

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
/** An amount, and the unit price in billionths of a dollar. */
type Item = readonly [amount: number, nanoUsd: number | undefined]

const nano = 1e9
/** A dollar per million tokens is a thousand billionths of a dollar per token. */
const perMillion = 1000

/**
 * Computes the cost of an answer's tokens and of what is billed beside them. Tokens read from a cache or
 * written to one, and tokens of audio and images, have their own prices where these are known. The length of
 * the prompt decides which prices count: pass the usage of one answer, not of several.
 *
 * @returns `undefined` where a needed price of tokens is not known, which is not zero
 */
export function costNanoUsd (usage: Usage, price: Price | undefined): number | undefined {
  if (price === undefined) return undefined
  const { longPrompt } = price
  // Prices without a value for long prompts stay the same.
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
    if (amount > 0) sum += amount * (nanoPrice(price, unit) ?? 0) // without a price it is free
  }
  return Math.round(sum)
}

/**
 * Computes the cost of everything but tokens; `undefined` where a needed price is not known or nothing was
 * used.
 */
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

/** A kind of tokens that has a price. */
interface PricedKind {
  readonly name: TokenKindName
  readonly price: keyof TokenPrices
  readonly parts: readonly PricedKind[]
}

const wholes = pricedKinds(undefined)

/**
 * Lists the kinds of tokens with a price that are parts of a kind, each with its own parts; without a kind
 * those that are no part.
 */
function pricedKinds (whole: string | undefined): PricedKind[] {
  return Object.entries<TokenKind>(tokenKinds).flatMap(([name, { partOf, price }]) =>
    partOf !== whole || price === undefined
      ? []
      : [
          // `Object.entries` forgets which names the table has.
          {
            name: name as TokenKindName,
            price: camelCase(price.field) as keyof TokenPrices,
            parts: pricedKinds(name)
          }
        ]
  )
}

/**
 * Returns what tokens of a kind cost: those of its parts at the prices of these, and the rest at its own;
 * `undefined` where a needed price is not known. Reported counts may overlap; no token is billed twice.
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

/** A unit whose price is one number. */
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
  return nanoOf(price[field] as number | undefined, per) // it is one number
}

function nanoOf (usd: number | undefined, per: number): number | undefined {
  return usd === undefined ? undefined : (usd * nano) / per
}

/** Lists the prices that images can have, in order. */
function imagePrices (
  { size, quality }: Images,
  { images: prices = [] }: Price
): NonNullable<Price['images']> {
  const fits = (wanted: string | undefined, said: string | undefined): boolean =>
    said === undefined || wanted === undefined || wanted === 'auto' || said === wanted
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
