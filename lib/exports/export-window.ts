/** The periods of files: hours or days of UTC. */

import { dayMs, type TimeRange } from '../core/day.ts'
import { hourMs } from '../stores/usage-rollups.ts'

const spans = { hour: hourMs, day: dayMs } as const

export type WindowLength = keyof typeof spans

/**
 * Returns the window that begins at a given time. It ends with the current hour or day, so that a change
 * between hours and days leaves no gap.
 */
export function windowFrom (fromMs: number, every: WindowLength): TimeRange {
  const spanMs = spans[every]
  return { fromMs, untilMs: fromMs - fromMs % spanMs + spanMs }
}

/** Returns the window that contains a given time. */
export function windowAt (ms: number, every: WindowLength): TimeRange {
  return windowFrom(ms - ms % spans[every], every)
}

/** Names the file of a window by its start and end: `usage-20261127T10Z-20261127T11Z.csv` */
export function fileName ({ fromMs, untilMs }: TimeRange, extension: string): string {
  return `usage-${hourName(fromMs)}-${hourName(untilMs)}.${extension}`
}

function hourName (ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 13).replaceAll('-', '')}Z`
}
