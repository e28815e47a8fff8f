/** Generates a number within the bounds of a schema. */

import { numberOf } from '../json/type-guards.ts'
import type { Schema } from './schema.ts'

interface NumberOptions {
  readonly integer: boolean
  readonly variant: number
  /** Used if it is within the bounds. */
  readonly hint: number | undefined
}

export function numberFor (schema: Schema, { integer, variant, hint }: NumberOptions): number {
  const limits = limitsOf(schema, integer)
  if (hint !== undefined && fits(hint, limits)) return hint
  const { low, high, step } = limits
  const start = Math.min(Math.max(low, variant + 1), high)
  if (step === undefined) return fits(start, limits) ? start : between(low, high)
  const up = Math.ceil(start / step) * step
  const above = up === low && limits.lowOut ? up + step : up
  if (fits(above, limits)) return above
  const down = Math.floor(start / step) * step
  return down === high && limits.highOut ? down - step : down
}

interface Limits {
  readonly low: number
  readonly high: number
  readonly lowOut: boolean
  readonly highOut: boolean
  readonly step: number | undefined
}

function limitsOf (schema: Schema, integer: boolean): Limits {
  const minimum = numberOf(schema['minimum']) ?? -Infinity
  const maximum = numberOf(schema['maximum']) ?? Infinity
  const above = numberOf(schema['exclusiveMinimum']) ?? -Infinity
  const below = numberOf(schema['exclusiveMaximum']) ?? Infinity
  const multiple = numberOf(schema['multipleOf'])
  return {
    low: Math.max(minimum, above),
    high: Math.min(maximum, below),
    lowOut: above >= minimum,
    highOut: below <= maximum,
    step: integer && (multiple === undefined || !Number.isInteger(multiple)) ? 1 : multiple
  }
}

function fits (number: number, { low, high, lowOut, highOut, step }: Limits): boolean {
  return (lowOut ? number > low : number >= low) && (highOut ? number < high : number <= high) &&
    (step === undefined || Number.isInteger(number / step))
}

function between (low: number, high: number): number {
  if (low === -Infinity) return high - 1
  if (high === Infinity) return low + 1
  return low + (high - low) / 2
}
