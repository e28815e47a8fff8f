import { percentile } from '../../lib/load/percentile.ts'

export function median (values: readonly number[]): number {
  return percentile(values.toSorted((a, b) => a - b), 0.5)
}

/**
 * Returns the error of the median of so many measurements, with a probability of 95 %, if they are normally
 * distributed.
 */
export function medianError (values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const quartiles = percentile(sorted, 0.75) - percentile(sorted, 0.25) // 1.35 standard deviations
  return 1.96 * 1.2533 * quartiles / 1.349 / Math.sqrt(values.length)
}
