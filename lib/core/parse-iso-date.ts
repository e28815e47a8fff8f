/**
 * Parses an ISO 8601 date or time into Unix milliseconds; `NaN` if invalid. Checks the calendar, too:
 * `Date.parse` reads 31 February as 3 March. Dates that somebody wrote are read by this function only.
 */
export function parseIsoDate (text: string): number {
  const day = text.slice(0, '2030-12-31'.length)
  const dayMs = Date.parse(day)
  return !Number.isNaN(dayMs) && new Date(dayMs).toISOString().startsWith(day) ? Date.parse(text) : NaN
}
