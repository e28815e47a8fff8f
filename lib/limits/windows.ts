/**
 * Windows of limits: hours, days, weeks and months of a time zone, all time, or repeated intervals of fixed
 * length. A day has 23 or 25 hours when clocks change; weeks begin on Monday.
 */

import { dayMs } from '../core/day.ts'
import type { Budget } from '../core/key.ts'

/** How a limit repeats. */
export type Window =
  /** `timeZone`: an IANA name. Default: UTC. */
  | { readonly per: Exclude<Budget['per'], undefined>, readonly timeZone?: string | undefined }
  | { readonly everyMs: number, readonly fromMs: number }

/** One period of a window: from its first millisecond to its end, exclusive. */
export interface Period {
  /** The name of the window; part of Redis keys. */
  readonly name: string
  readonly fromMs: number
  readonly endMs: number
}

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: dayMs } as const

/** Returns a length such as `30d` in milliseconds; NaN if malformed. */
export function lengthMs (text: string): number {
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([smhd])$/.exec(text) ?? []
  return count === '' ? NaN : Number(count) * unitMs[unit as keyof typeof unitMs] // matches the pattern
}

export function windowOfBudget ({ per, timeZone, every, from }: Budget): Window {
  // A day that does not exist, which earlier versions accepted, keeps the periods that it has had.
  if (every !== undefined && from !== undefined) return { everyMs: lengthMs(every), fromMs: Date.parse(from) }
  return { per: per ?? 'month', ...timeZone !== undefined && { timeZone } }
}

/** Returns true for a time zone known to this system. */
export function isTimeZone (name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false // throws a RangeError
  }
}

/** Returns the period of a window that contains a time. */
export function periodAt (window: Window, nowMs: number): Period {
  return { name: windowName(window), ...boundsOf(window, nowMs) }
}

/** Names a window: windows with the same name have the same periods. */
export function windowName (window: Window): string {
  if ('everyMs' in window) return `every${window.everyMs}:${window.fromMs % window.everyMs}`
  return window.timeZone === undefined ? window.per : `${window.per}@${window.timeZone}`
}

function boundsOf (window: Window, nowMs: number): Pick<Period, 'fromMs' | 'endMs'> {
  if ('everyMs' in window) {
    const { everyMs, fromMs: firstMs } = window
    const fromMs = firstMs + Math.floor((nowMs - firstMs) / everyMs) * everyMs
    return { fromMs, endMs: fromMs + everyMs }
  }
  const { per, timeZone = 'UTC' } = window
  if (per === 'total') return { fromMs: 0, endMs: Infinity }
  if (per === 'hour') {
    // If clocks change by half an hour, one hour is an hour and a half long.
    const sinceHour = (ms: number): number => localTime(ms, timeZone).getTime() % unitMs.h
    let fromMs = nowMs - sinceHour(nowMs)
    fromMs -= sinceHour(fromMs)
    const nextMs = fromMs + unitMs.h
    return { fromMs, endMs: nextMs + (unitMs.h - sinceHour(nextMs)) % unitMs.h }
  }
  const local = localTime(nowMs, timeZone)
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()]
  const monday = day - ((local.getUTCDay() + 6) % 7)
  switch (per) {
    case 'month': return between([year, month, 1], [year, month + 1, 1], timeZone)
    case 'week': return between([year, month, monday], [year, month, monday + 7], timeZone)
    case 'day': return between([year, month, day], [year, month, day + 1], timeZone)
  }
  return per satisfies never
}

/** A calendar day, as `Date.UTC` takes it. */
type Day = readonly [year: number, month: number, day: number]

function between (from: Day, end: Day, timeZone: string): Pick<Period, 'fromMs' | 'endMs'> {
  return { fromMs: momentOf(from, timeZone), endMs: momentOf(end, timeZone) }
}

/** Returns a date whose UTC fields are the local time of a zone. */
function localTime (ms: number, timeZone: string): Date {
  return new Date(ms + offsetMs(ms, timeZone))
}

/** Returns the first moment when local time in a zone is at or after a given one. */
function momentOf (date: Day, timeZone: string): number {
  const wanted = Date.UTC(...date)
  if (timeZone === 'UTC') return wanted
  // The offsets a day before and after cover both sides of a change.
  const moments = [wanted - dayMs, wanted + dayMs].map(near => wanted - offsetMs(near, timeZone))
  const exact = moments.filter(ms => ms + offsetMs(ms, timeZone) === wanted)
  if (exact.length > 0) return Math.min(...exact)
  return firstAfterGap(Math.min(...moments), Math.max(...moments), wanted, timeZone)
}

/** Finds the clock change that skips a local time; the moment is its end. */
function firstAfterGap (beforeMs: number, afterMs: number, wanted: number, timeZone: string): number {
  let [low, high] = [beforeMs, afterMs]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (middle + offsetMs(middle, timeZone) < wanted) low = middle
    else high = middle
  }
  return high
}

/** Formatters by time zone, because creating one is slow. */
const formats = new Map<string, Intl.DateTimeFormat>()
const maxFormats = 1000

/** Returns a zone's offset from UTC at a time, in milliseconds. */
function offsetMs (ms: number, timeZone: string): number {
  if (timeZone === 'UTC') return 0
  let format = formats.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    if (formats.size >= maxFormats) formats.clear()
    formats.set(timeZone, format)
  }
  // such as `1/1/2026, GMT+05:30`; `GMT` alone is UTC, and seconds occur only in earlier centuries
  const [, sign, hours = 0, minutes = 0, seconds = 0] =
    /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(format.format(ms)) ?? []
  const length = Number(hours) * unitMs.h + Number(minutes) * unitMs.m + Number(seconds) * unitMs.s
  return sign === '-' ? -length : length
}
