/**
 * Returns the SQL that is true of a row of `usage` that a given one of the same id replaces: a call was recorded as interrupted by a process that took the
 * one that has it for dead, or from the first of two journals with lines of it, and what is given is from later.
 *
 * @param outcome SQL of the given row, as are the others
 */
export function isReplaced (outcome: string, durationMs: string): string {
  return `usage.outcome = 'interrupted' and (${outcome} <> 'interrupted' or ${durationMs} > usage.duration_ms)`
}
