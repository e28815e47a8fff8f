/** Formats times for people; the exact time belongs in a `title`. */

import { plural } from './numbers.ts'

const day = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' })
const dayOfYear = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', year: 'numeric' })
const clock = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23'
})

const hour = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

type Moment = string | number | Date

/** Prints `just now`, `5 min ago`, `3 hours ago` or `Mar 4`. */
export function ago (moment: Moment): string {
  const seconds = (Date.now() - new Date(moment).getTime()) / 1000
  if (seconds < 45) return 'just now'
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`
  if (seconds < 86_400) return `${plural(Math.round(seconds / 3600), 'hour')} ago`
  if (seconds < 7 * 86_400) return `${plural(Math.round(seconds / 86_400), 'day')} ago`
  return date(moment)
}

/** Prints `Mar 4`, with the year if it is not the current one. */
export function date (moment: Moment): string {
  const value = new Date(moment)
  return (value.getFullYear() === new Date().getFullYear() ? day : dayOfYear).format(value)
}

/** Prints `Mar 4 – Mar 9`, or within a day `Mar 4, 14:00 – 18:00`. */
export function range (from: Moment, until: Moment): string {
  const [first, last] = [new Date(from), new Date(until)]
  if (last.getTime() - first.getTime() > 2 * 86_400_000) return `${date(first)} – ${date(last)}`
  return `${date(first)}, ${hour.format(first)} – ${first.toDateString() === last.toDateString() ? '' : `${date(last)}, `}${hour.format(last)}`
}

/** Prints `14:03:22`. */
export function time (moment: Moment): string {
  return clock.format(new Date(moment))
}

/** Prints `Mar 4, 14:03:22`. */
export function dateTime (moment: Moment): string {
  return `${date(moment)}, ${time(moment)}`
}
