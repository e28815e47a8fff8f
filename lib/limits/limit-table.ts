/**
 * Reads the table of limits (`schemas/config/counted-limits`): names, kinds of refusal, and which limits
 * depend on usage.
 */

import { perUnitOf } from '../../schemas/billed-units.ts'
import { camelCase } from '../validation/camel-case-schema.ts'
import {
  countedLimitNames,
  countedLimits,
  type CountedLimit,
  type CountedLimitName,
  type CountedRefusal,
  type SumRefusal
} from '../../schemas/config/counted-limits.ts'
import type { CountedAmounts, PartyLimits, Refusal, SumName } from '../core/key.ts'

type CountedRow = CountedLimit & (
  | { readonly counting: 'rate' | 'open', readonly refusal: CountedRefusal }
  | { readonly counting: 'sum', readonly refusal: SumRefusal, readonly per: 'day' | 'month' }
)

interface LimitField {
  /** Its name on the wire. */
  readonly name: CountedLimitName
  /** Its name in `KeyLimits`. */
  readonly member: keyof CountedAmounts
  readonly row: CountedRow
  /** Counted amount per unit of the limit. */
  readonly perUnit: number
}

/** Scalar limits. */
export const limitFields: readonly LimitField[] = countedLimitNames.map(name => (
  { name, member: camelCase(name), row: countedLimits[name], perUnit: perUnitOf(countedLimits[name].unit) }
))

/** The names of sums. */
const sumNames: readonly SumName[] = [
  'budget',
  ...limitFields.flatMap(({ row }) => (row.counting === 'sum' ? [row.refusal] : []))
]

/** Names of everything that can refuse a call, for the log and for metrics. */
export const refusals: readonly Refusal[] = [
  ...limitFields.flatMap(({ row }) => row.counting === 'sum' ? [] : [row.refusal]),
  ...sumNames.flatMap(name => [name, `${name}_too_small`, `${name}_reserved`] as const),
  'budget_unread'
]

/** Returns true for a unit of which a call takes one at admission, and more only when it ends. */
export function isPerCall (unit: string): unit is 'requests' | 'calls' {
  return unit === 'requests' || unit === 'calls'
}

/** Keeps the limits that depend on usage; the others were checked at admission. */
export function usageLimits (limits: PartyLimits): PartyLimits {
  const kept: { -readonly [Name in keyof PartyLimits]: PartyLimits[Name] } = { ...limits }
  for (const { member, row } of limitFields) if (isPerCall(row.unit)) delete kept[member]
  return kept
}
