/**
 * Names of model snapshots: `gpt-4o-2024-08-06` is one of `gpt-4o`, and has its price and its capabilities.
 */

/** A date, a month and day, or `latest`: the suffixes that OpenAI, Anthropic and others use. */
const snapshot =
  /[-@](?:(\d{4})-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|latest)$|:latest$/

/** Returns a name without its date; `undefined` for a name without one. */
export function withoutDate (name: string): string | undefined {
  const found = snapshot.exec(name)
  return found === null || found.index === 0 ? undefined : name.slice(0, found.index)
}

/** Returns the date in a name, as ISO 8601; `undefined` for a name without one. */
export function dateIn (name: string): string | undefined {
  const [, year, month, day] = snapshot.exec(name) ?? []
  return year === undefined ? undefined : `${year}-${month}-${day}T00:00:00Z`
}
