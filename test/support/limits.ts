/** Decisions of limiters. */

import type { LimitDecision } from '../../lib/limits/counters.ts'

/** Returns the limit that refuses a call, or that none does. */
export function reasonOf (decision: LimitDecision): string {
  return decision.admitted ? 'admitted' : decision.reason
}
