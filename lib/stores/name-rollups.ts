/**
 * Says what of a usage row adds up in `name_rollups`: sums of days by the names that callers choose, of which
 * there may be any number. So many are distinguished in a period, and the others are `(other)`.
 */

import { attributionNames, type AttributionName } from '../../schemas/admin/usage.ts'
import { dayMs, dayOf, monthOf } from '../core/day.ts'
import type { NameRollupRow } from './tables.ts'
import type { NamedRow } from './usage-rollups.ts'

/** The columns that distinguish them: the primary key of the table. */
export const nameRollupKey = ['kind', 'from_ms', 'project_id', 'name', 'model'] as const

/** Stands for the names that are not distinguished. */
export const otherNames = '(other)'

export interface NameBound {
  /** Names of a project that are distinguished in a period. */
  readonly maxNames: number
  readonly period: 'day' | 'month'
}

export const nameBounds: Readonly<Record<AttributionName, NameBound>> = {
  end_user: { maxNames: 10_000, period: 'month' },
  session: { maxNames: 10_000, period: 'day' },
  tag: { maxNames: 1000, period: 'month' }
}

/** Stands for all names of a kind: a report reads their sum in place of those that it does not list. */
export const allNames = ''

/**
 * The kinds of the sums: those of names, and `tagged`, which has sums of all names alone. A call with several
 * tags counts once there.
 */
export const rollupKinds: ReadonlyArray<NameRollupRow['kind']> = [...attributionNames, 'tagged']

/** Returns the kind in which each call with a name of a kind counts once. */
export function onceKind (kind: AttributionName): NameRollupRow['kind'] {
  return kind === 'tag' ? 'tagged' : kind
}

/** Lists the names of a row by their kind. An empty one, which a stage may leave, is none. */
export function namesOf (row: NamedRow): Readonly<Record<AttributionName, readonly string[]>> {
  const { end_user: endUser, session, tags } = row
  return {
    end_user: [endUser].flatMap(name => name || []),
    session: [session].flatMap(name => name || []),
    // as `usage/usage-row` prints them
    tag: (JSON.parse(tags ?? '[]') as string[]).filter(tag => tag !== '')
  }
}

/** Returns the first millisecond of the period in which names of a kind are distinguished. */
export function periodOf (kind: AttributionName, atMs: number): number {
  return nameBounds[kind].period === 'day' ? dayOf(atMs) : monthOf(atMs)
}

/** Lists the days of a period of a kind. */
export function daysOf (kind: AttributionName, fromMs: number): number[] {
  const untilMs = nameBounds[kind].period === 'day' ? fromMs + dayMs : monthOf(fromMs, 1)
  return Array.from({ length: (untilMs - fromMs) / dayMs }, (_, day) => fromMs + day * dayMs)
}
