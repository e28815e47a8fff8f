/**
 * Parses a day or moment of ISO 8601 into milliseconds since 1970, `NaN` for none. The calendar counts
 * as well: `Date.parse` takes 31 February for 3 March, and a key would live longer than was meant.
 */
export function parseIsoDate (text: string): number {
  const day = text.slice(0, '2030-12-31'.length)
  const dayMs = Date.parse(day)
  return !Number.isNaN(dayMs) && new Date(dayMs).toISOString().startsWith(day) ? Date.parse(text) : NaN
}
