/** @param sorted ascending; `NaN` when empty */
export function percentile (sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
}
