/**
 * Defines how a usage row adds to `name_rollups`: daily sums by caller-supplied names. Their number is
 * unbounded, so each period distinguishes a maximum and sums the rest as `(other)`.
 */

import { attributionNames, type AttributionName } from '../../schemas/admin/usage.ts'
import { dayMs, dayOf, monthOf } from '../core/day.ts'
import type { NameRollupRow } from './tables.ts'
import type { NamedRow } from './usage-rollups.ts'

/** The primary key of the table. */
export const nameRollupKey = ['kind', 'from_ms', 'project_id', 'name', 'model'] as const

/** The name for all names that are not distinguished. */
export const otherNames = '(other)'

export interface NameBound {
  /** Maximum distinguished names per project and period. */
  readonly maxNames: number
  readonly period: 'day' | 'month'
}

export const nameBounds: Readonly<Record<AttributionName, NameBound>> = {
  end_user: { maxNames: 10_000, period: 'month' },
  session: { maxNames: 10_000, period: 'day' },
  tag: { maxNames: 1000, period: 'month' }
}

/** The name for the sum over all names of a kind. Reports read it instead of the names they do not list. */
export const allNames = ''

/**
 * The kinds of sums: one per kind of name, and `tagged`, which only sums over all names and counts a call
 * with several tags once.
 */
export const rollupKinds: ReadonlyArray<NameRollupRow['kind']> = [...attributionNames, 'tagged']

/** Returns the kind in which each call with a name counts once. */
export function onceKind (kind: AttributionName): NameRollupRow['kind'] {
  return kind === 'tag' ? 'tagged' : kind
}

/** Lists the names of a row by kind. Empty names, which a guard may leave, are skipped. */
export function namesOf (row: NamedRow): Readonly<Record<AttributionName, readonly string[]>> {
  const { end_user: endUser, session, tags } = row
  return {
    end_user: [endUser].flatMap(name => name || []),
    session: [session].flatMap(name => name || []),
    // as `usage/usage-row` prints them
    tag: (JSON.parse(tags ?? '[]') as string[]).filter(tag => tag !== '')
  }
}

/** Returns the start of the period in which names of a kind are distinguished. */
export function namePeriodStart (kind: AttributionName, atMs: number): number {
  return nameBounds[kind].period === 'day' ? dayOf(atMs) : monthOf(atMs)
}

/** Lists the days of a kind's period. */
export function daysOf (kind: AttributionName, fromMs: number): number[] {
  const untilMs = nameBounds[kind].period === 'day' ? fromMs + dayMs : monthOf(fromMs, 1)
  return Array.from({ length: (untilMs - fromMs) / dayMs }, (_, day) => fromMs + day * dayMs)
}
