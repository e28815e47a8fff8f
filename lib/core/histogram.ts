/** Counts values in buckets, for metrics. */

/** A call whose value was counted, identified by its trace. */
export interface Exemplar {
  readonly traceId: string
  readonly spanId: string
  readonly value: number
  /** Unix milliseconds. */
  readonly atMs: number
}

/** Counts of values by size: plain data, so that another process can receive it. */
export interface HistogramValue {
  readonly bounds: readonly number[]
  /** One more entry than `bounds`: the last counts the values above all bounds. */
  readonly counts: readonly number[]
  readonly sum: number
  /** The latest call of each bucket that has one. */
  readonly exemplars?: Readonly<Record<number, Exemplar>>
}

/** Bounds for times of a nearby server, in seconds. */
export const roundTripBounds: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5
]

/** Counts values by size. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0
  #exemplars: Record<number, Exemplar> | undefined

  /** @param bounds ascending; a value counts in the first bucket whose bound it does not exceed */
  constructor (bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  /** @param span of a trace that is sent, so that a reader can find it */
  observe (value: number, span?: Pick<Exemplar, 'traceId' | 'spanId'>): void {
    let bucket = 0
    for (const bound of this.#bounds) {
      if (value <= bound) break
      bucket++
    }
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sum += value
    if (span === undefined) return
    this.#exemplars ??= {}
    this.#exemplars[bucket] = { traceId: span.traceId, spanId: span.spanId, value, atMs: Date.now() }
  }

  get value (): HistogramValue {
    return {
      bounds: this.#bounds,
      counts: [...this.#counts],
      sum: this.#sum,
      ...this.#exemplars !== undefined && { exemplars: { ...this.#exemplars } }
    }
  }
}
