/**
 * Returns the SQL condition for a row of `usage` that a newer row with the same id replaces. A call may have
 * been recorded as interrupted too early: by another process that considered its process dead, or from the
 * earlier of two journals.
 *
 * @param outcome SQL of the newer row, like the other parameters
 */
export function isReplaced (outcome: string, durationMs: string): string {
  return `usage.outcome = 'interrupted' and (${outcome} <> 'interrupted' or ${durationMs} > usage.duration_ms)`
}
