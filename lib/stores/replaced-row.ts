/**
 * Returns the SQL that is true of a row of `usage` that a given one of the same id replaces. A call may be
 * recorded as interrupted too early: by another process that took its own for dead, or from the earlier of
 * two journals that have lines of it. The given row is from later.
 *
 * @param outcome SQL of the given row, as are the others
 */
export function isReplaced (outcome: string, durationMs: string): string {
  return `usage.outcome = 'interrupted' and (${outcome} <> 'interrupted' or ${durationMs} > usage.duration_ms)`
}
