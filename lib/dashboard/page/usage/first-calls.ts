/**
 * Detects a gateway that has just started to get calls: they would be one bar of a day, but are a line in
 * minutes.
 */

import type { Usage } from './measures.ts'

/** As long as the admin API shows minutes. */
const maxMs = 2 * 3_600_000

/** Returns when calls began in a longer period, if that was in the last two hours. */
export function firstCalls ({
  at_ms: times,
  series,
  previous,
  bucket,
  until_ms: untilMs
}: Usage): number | undefined {
  const first = times[series.calls.findIndex(calls => (calls ?? 0) > 0)]
  const isNew =
    bucket !== 'minute' &&
    first !== undefined &&
    untilMs - first <= maxMs &&
    (previous?.totals.calls ?? 0) === 0
  return isNew ? first : undefined
}
