/**
 * Windows of limits, found by reading a clock of the zone every quarter of an hour: a reference for
 * `limits/windows`.
 */

import { dayMs } from '../../lib/core/day.ts'
import type { Period, Window } from '../../lib/limits/windows.ts'

const quarterMs = 900_000

/**
 * Zones whose clocks change by an hour, half an hour and two hours, at midnight and at other times, in every
 * version of Node.js: in newer data Casablanca no longer changes.
 */
export const changingZones = [
  'Europe/Berlin',
  'America/Santiago',
  'America/Havana',
  'America/Nuuk',
  'Africa/Cairo',
  'Antarctica/Troll',
  'Asia/Beirut',
  'Atlantic/Azores',
  'Australia/Lord_Howe',
  'Pacific/Chatham'
]

const clocks = new Map<string, Intl.DateTimeFormat>()

/** Returns the time on a clock of a zone, as if it were UTC. */
function shownMs (ms: number, timeZone: string): number {
  let clock = clocks.get(timeZone)
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
    clocks.set(timeZone, clock)
  }
  return Date.parse(`${clock.format(ms).replace(' ', 'T')}Z`)
}

/** Returns true if a window begins at a moment, by the clock then and a quarter of an hour before. */
function begins ({ per, timeZone = 'UTC' }: Extract<Window, { readonly per: unknown }>, ms: number): boolean {
  const [before, at] = [ms - quarterMs, ms].map(each => new Date(shownMs(each, timeZone)).toISOString())
  const isOther = (characters: number): boolean => before?.slice(0, characters) !== at?.slice(0, characters)
  switch (per) {
    case 'hour': return at?.slice('yyyy-mm-ddThh:'.length, 'yyyy-mm-ddThh:mm'.length) === '00'
    case 'day': return isOther('yyyy-mm-dd'.length)
    case 'week': return isOther('yyyy-mm-dd'.length) && new Date(at ?? NaN).getUTCDay() === 1
    case 'month': return isOther('yyyy-mm'.length)
    case 'total': return false
  }
  return per satisfies never
}

/** By kind and zone. */
const found = new Map<string, Array<Pick<Period, 'fromMs' | 'endMs'>>>()

/** Returns the window that contains a moment. */
export function slowWindow (window: Window, ms: number): Pick<Period, 'fromMs' | 'endMs'> {
  if ('everyMs' in window) {
    let { fromMs } = window
    while (fromMs > ms) fromMs -= window.everyMs
    while (fromMs + window.everyMs <= ms) fromMs += window.everyMs
    return { fromMs, endMs: fromMs + window.everyMs }
  }
  if (window.per === 'total') return { fromMs: 0, endMs: Infinity }
  const at = Math.floor(ms / quarterMs) * quarterMs
  const name = `${window.per} ${window.timeZone}`
  const windows = found.get(name) ?? []
  const known = windows.find(({ fromMs, endMs }) => fromMs <= ms && ms < endMs)
  if (known !== undefined) return known
  let fromMs = at
  let endMs = at + quarterMs
  while (!begins(window, fromMs)) fromMs -= quarterMs
  while (!begins(window, endMs)) endMs += quarterMs
  found.set(name, [...windows, { fromMs, endMs }])
  return { fromMs, endMs }
}

/** Lists the moments within two years from 2030 at which clocks of a zone change. */
export function changesOf (timeZone: string): number[] {
  const changes: number[] = []
  const offsetAt = (ms: number): number => shownMs(ms, timeZone) - ms
  for (let ms = Date.UTC(2030, 0); ms < Date.UTC(2032, 0); ms += dayMs) {
    if (offsetAt(ms) === offsetAt(ms + dayMs)) continue
    let changeMs = ms
    while (offsetAt(changeMs) === offsetAt(ms)) changeMs += quarterMs
    changes.push(changeMs)
  }
  return changes
}
