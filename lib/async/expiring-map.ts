/**
 * A map whose entries are dropped when they expire, and the oldest first when there are too many. No timers.
 */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, { readonly value: V, readonly untilMs: number }>()
  readonly #capacity: number

  constructor (capacity: number) {
    this.#capacity = capacity
  }

  get (key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (performance.now() < entry.untilMs) return entry.value
    this.#entries.delete(key)
    return undefined
  }

  set (key: string, value: V, ttlMs: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, untilMs: performance.now() + ttlMs })
    if (this.#entries.size <= this.#capacity) return
    const [oldest = ''] = this.#entries.keys()
    this.#entries.delete(oldest)
  }

  delete (key: string): void {
    this.#entries.delete(key)
  }
}
