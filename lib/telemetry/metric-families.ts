/**
 * Represents metrics as Prometheus reads them: the counts of one process, sums over several processes, and
 * the text.
 *
 * Replaces prom-client, which takes 5.2 µs of CPU to count a call with children bound per label set (ten
 * counters and histograms; 10 µs without), where this takes 0.4, and which cannot keep the counts of a worker
 * that exited.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */

/** Holds one metric of a process: plain data, so that it can be sent to another process. */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** Combines the values of several processes. Default: their sum. */
  readonly merge?: 'max'
  /** The suffix of each name, once: `{endpoint="chat"}`, `_bucket{le="1"}`. */
  readonly samples: Sample[]
}

export type Sample = readonly [series: string, value: number]

/** Formats labels: `{endpoint="chat",status="200"}`. */
export function labels (values: object): string {
  return `{${Object.entries(values).map(([name, value]) => `${name}="${escaped(String(value))}"`).join(',')}}`
}

function escaped (value: string): string {
  return value.replace(/[\\"\n]/g, letter => letter === '\n' ? '\\n' : `\\${letter}`)
}

/** Combines the metrics of several processes. */
export function mergeFamilies (processes: ReadonlyArray<readonly Family[]>): Family[] {
  const byName = new Map<string, { readonly family: Family, readonly values: Map<string, number> }>()
  for (const family of processes.flat()) {
    let total = byName.get(family.name)
    if (total === undefined) byName.set(family.name, total = { family, values: new Map() })
    for (const [series, value] of family.samples) {
      const before = total.values.get(series)
      if (before === undefined) total.values.set(series, value)
      else total.values.set(series, family.merge === 'max' ? Math.max(before, value) : before + value)
    }
  }
  return [...byName.values()].map(({ family, values }) => ({ ...family, samples: [...values] }))
}

export function printFamilies (families: readonly Family[]): string {
  let text = ''
  for (const { name, help, type, samples } of families) {
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
    for (const [series, value] of samples) text += `${name}${series} ${value}\n`
  }
  return text
}

/** Counts values by size. */
export class Histogram {
  readonly #bounds: readonly number[]
  /** One more than bounds: the last counts values above all of them. */
  readonly #counts: number[]
  #sum = 0

  /** @param bounds ascending; a value counts in the first that it does not exceed */
  constructor (bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe (value: number): void {
    let bucket = 0
    for (const bound of this.#bounds) {
      if (value <= bound) break
      bucket++
    }
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sum += value
  }

  /** @param series labels as `labels` writes them, at least one */
  addTo ({ samples }: Family, series: string): void {
    const begin = `_bucket${series.slice(0, -1)},le="`
    let count = 0
    for (const [bucket, more] of this.#counts.entries()) {
      count += more
      samples.push([`${begin}${this.#bounds[bucket] ?? '+Inf'}"}`, count])
    }
    samples.push([`_sum${series}`, this.#sum], [`_count${series}`, count])
  }

  get isEmpty (): boolean {
    return this.#counts.every(count => count === 0)
  }
}
