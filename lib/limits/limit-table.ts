/** Reads the table of limits (`schemas/config/counted-limits`): names, and kinds of refusal. */

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
import type { CountedAmounts, LimitRefusal, SumName } from '../core/key.ts'

type CountedRow = CountedLimit & (
  | { readonly counting: 'rate' | 'open', readonly refusal: CountedRefusal }
  | { readonly counting: 'sum', readonly refusal: SumRefusal, readonly per: 'day' | 'month' }
)

interface LimitField {
  /** Its name on the wire. */
  readonly name: CountedLimitName
  /** Its name in `PartyLimits`. */
  readonly property: keyof CountedAmounts
  readonly row: CountedRow
  /** Counted amount per unit of the limit. */
  readonly perUnit: number
}

export const limitFields: readonly LimitField[] = countedLimitNames.map(name => (
  { name, property: camelCase(name), row: countedLimits[name], perUnit: perUnitOf(countedLimits[name].unit) }
))

const sumNames: readonly SumName[] = [
  'budget',
  ...limitFields.flatMap(({ row }) => (row.counting === 'sum' ? [row.refusal] : []))
]

/** Names of everything that can refuse a call, for the log and for metrics. */
export const refusals: readonly LimitRefusal[] = [
  ...limitFields.flatMap(({ row }) => row.counting === 'sum' ? [] : [row.refusal]),
  ...sumNames.flatMap(name => [name, `${name}_too_small`, `${name}_reserved`] as const),
  'budget_unread'
]
