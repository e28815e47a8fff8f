/** A day of UTC, which is what the books and budgets count by. */
export const dayMs = 24 * 60 * 60 * 1000

/** The first moment of the day. */
export function dayOf (ms: number): number {
  return ms - ms % dayMs
}

/** `2025-11-21` */
export function dayText (ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
