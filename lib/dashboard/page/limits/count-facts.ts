import { countedLimitNames, countedLimits } from '../../../../schemas/config/counted-limits.ts'
import { count } from '../format/numbers.ts'
import type { Limits } from './limits-draft.ts'

/** Lists the limits that are one number, with their labels. */
export function countFacts (limits: Limits | null): Array<readonly [label: string, value: string]> {
  return countedLimitNames.map(name => {
    const amount = limits?.[name]
    return [countedLimits[name].label, amount === undefined ? 'No limit' : count(amount)]
  })
}
