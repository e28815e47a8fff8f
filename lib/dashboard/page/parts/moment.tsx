/** A time in words, with the exact time at the pointer. */

import type { JSX } from 'preact'
import { ago, dateTime } from '../format/time.ts'

export function Moment ({
  at,
  none = '–'
}: {
  readonly at: number | null
  readonly none?: string
}): JSX.Element {
  if (at === null) return <span class='faint'>{none}</span>
  return <time class='nowrap' dateTime={new Date(at).toISOString()} title={dateTime(at)}>{ago(at)}</time>
}
