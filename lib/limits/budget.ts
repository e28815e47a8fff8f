/** What a key has spent of its budget, and what calls under way may come to. */

import { dayMs, dayOf } from '../usage/day.ts'
import type { Budget } from '../core/key.ts'

/** A day, a month or all time, of UTC. */
export interface Period {
  readonly per: Budget['per']
  readonly fromMs: number
  /** The first moment after it. */
  readonly endMs: number
}

export interface Spending {
  readonly period: Period
  /** Billionths of a dollar. */
  readonly spent: number
  readonly reserved: number
}

export function periodOf (per: Budget['per'], nowMs: number): Period {
  switch (per) {
    case 'day': return { per, fromMs: dayOf(nowMs), endMs: dayOf(nowMs) + dayMs }
    case 'month': {
      const now = new Date(nowMs)
      const first = (month: number): number => Date.UTC(now.getUTCFullYear(), month)
      return { per, fromMs: first(now.getUTCMonth()), endMs: first(now.getUTCMonth() + 1) }
    }
    case 'total': return { per, fromMs: 0, endMs: Infinity }
  }
}
