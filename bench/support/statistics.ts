export function median (values: readonly number[]): number {
  return percentile(values.toSorted((a, b) => a - b), 0.5)
}

/** @param sorted ascending; `NaN` when empty */
export function percentile (sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
}
