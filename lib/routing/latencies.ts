/**
 * Moving averages of the time until the first output of a stream, or until a complete answer; the newest
 * measurement counts a fifth. An average expires after five minutes without one, so that a slow model gets
 * another chance.
 */

const newestShare = 0.2
const forgottenAfterMs = 5 * 60_000

export class Latencies {
  readonly #now: () => number
  readonly #measured = new Map<string, { readonly ms: number, readonly atMs: number }>()

  constructor (now: () => number) {
    this.#now = now
  }

  /** @param modelId a model of a configured route; caller-supplied names would be unbounded */
  note (modelId: string, ms: number): void {
    const before = this.of(modelId) ?? ms
    this.#measured.set(modelId, { ms: before + (ms - before) * newestShare, atMs: this.#now() })
  }

  /** Returns milliseconds, or `undefined` if unknown. */
  of (modelId: string): number | undefined {
    const found = this.#measured.get(modelId)
    return found === undefined || this.#now() - found.atMs > forgottenAfterMs ? undefined : found.ms
  }

  /** Copies the measurements of unchanged providers. */
  adopt (before: Latencies, isSame: (providerId: string) => boolean): void {
    for (const [modelId, measured] of before.#measured) {
      if (isSame(modelId.slice(0, modelId.indexOf('/')))) this.#measured.set(modelId, measured)
    }
  }
}
