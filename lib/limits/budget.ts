/** Computes the periods of budgets, and defines the amounts that count in them. */

import { dayMs, dayOf } from '../usage/day.ts'
import type { Budget } from '../core/key.ts'
import type { Refunds } from './refunds.ts'

/** Describes a day, a month or all time, in UTC. */
export interface Period {
  readonly per: Budget['per']
  readonly fromMs: number
  /** The end, exclusive. */
  readonly endMs: number
}

export interface Spending {
  readonly period: Period
  /** Billionths of a dollar. */
  readonly spent: number
  readonly reserved: number
  /** Spent or reserved by other gateways on the store, and spent but not recorded yet by this one; 0 while it is alone. */
  readonly elsewhere: number
  /** Absent while nothing was given back. */
  readonly refunds: Refunds | undefined
}

/** An amount that a gateway has reserved for open calls, or spent and not recorded yet. */
export interface Holding {
  readonly keyId: string
  /** The first millisecond of the period of its budget. */
  readonly fromMs: number
  readonly nanoUsd: number
}

/** Finds a usage record in the store. */
export interface UsageRowKey {
  readonly id: string
  readonly atMs: number
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
