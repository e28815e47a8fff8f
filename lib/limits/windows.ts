/**
 * The windows of limits: hours, days, weeks and months of a time zone, all time, or stretches of one length
 * from a moment on. A day has 23 or 25 hours where clocks change; weeks begin on Monday.
 */

import { dayMs } from '../core/day.ts'
import type { Budget } from '../core/key.ts'

export type Window =
  /** `timeZone`: a name of the IANA database. Default: UTC. */
  | { readonly per: Exclude<Budget['per'], undefined>, readonly timeZone?: string | undefined }
  | { readonly everyMs: number, readonly fromMs: number }

/** One window: from its first millisecond to its end, exclusive. */
export interface Period {
  /** Names the kind of window, as counters in Redis do. */
  readonly name: string
  readonly fromMs: number
  readonly endMs: number
}

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: dayMs } as const

/** Returns the milliseconds of a length such as `30d`; NaN for another text. */
export function lengthMs (text: string): number {
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([smhd])$/.exec(text) ?? []
  return count === '' ? NaN : Number(count) * unitMs[unit as keyof typeof unitMs] // by the pattern
}

/** Returns the window of a budget, whose shape has been checked. */
export function windowOfBudget ({ per, timeZone, every, from }: Budget): Window {
  if (every !== undefined && from !== undefined) return { everyMs: lengthMs(every), fromMs: Date.parse(from) }
  return { per: per ?? 'month', ...timeZone !== undefined && { timeZone } }
}

/** Returns true for the name of a time zone that this system knows. */
export function isTimeZone (name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false // a RangeError
  }
}

/** Returns the period of a window that holds a moment. */
export function periodOf (window: Window, nowMs: number): Period {
  return { name: windowName(window), ...boundsOf(window, nowMs) }
}

/** Names a kind of window: two of one name have the same periods. */
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
    // Where clocks are set by half an hour, one has an hour and a half.
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

/** A day of the calendar, as `Date.UTC` takes it. */
type Day = readonly [year: number, month: number, day: number]

function between (from: Day, end: Day, timeZone: string): Pick<Period, 'fromMs' | 'endMs'> {
  return { fromMs: momentOf(from, timeZone), endMs: momentOf(end, timeZone) }
}

/** Returns a date whose UTC fields are what clocks of a zone show. */
function localTime (ms: number, timeZone: string): Date {
  return new Date(ms + offsetMs(ms, timeZone))
}

/** Returns the first moment at which clocks of a zone show a local time or a later one. */
function momentOf (date: Day, timeZone: string): number {
  const wanted = Date.UTC(...date)
  if (timeZone === 'UTC') return wanted
  // The offsets a day before and after are those on both sides of a change.
  const moments = [wanted - dayMs, wanted + dayMs].map(near => wanted - offsetMs(near, timeZone))
  const exact = moments.filter(ms => ms + offsetMs(ms, timeZone) === wanted)
  if (exact.length > 0) return Math.min(...exact)
  return firstAfterGap(Math.min(...moments), Math.max(...moments), wanted, timeZone)
}

/** Finds the change of clocks that leaves a local time out: its end is the moment. */
function firstAfterGap (beforeMs: number, afterMs: number, wanted: number, timeZone: string): number {
  let [low, high] = [beforeMs, afterMs]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (middle + offsetMs(middle, timeZone) < wanted) low = middle
    else high = middle
  }
  return high
}

/** Formatters by time zone: making one takes longer than all that a period needs of it. */
const formats = new Map<string, Intl.DateTimeFormat>()
const maxFormats = 1000

/** Returns how far clocks of a zone are ahead of UTC at a moment, in milliseconds. */
function offsetMs (ms: number, timeZone: string): number {
  if (timeZone === 'UTC') return 0
  let format = formats.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    if (formats.size >= maxFormats) formats.clear()
    formats.set(timeZone, format)
  }
  // such as `1/1/2026, GMT+05:30`; `GMT` alone is UTC, and seconds are of earlier centuries
  const [, sign, hours = 0, minutes = 0, seconds = 0] =
    /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(format.format(ms)) ?? []
  const length = Number(hours) * unitMs.h + Number(minutes) * unitMs.m + Number(seconds) * unitMs.s
  return sign === '-' ? -length : length
}
