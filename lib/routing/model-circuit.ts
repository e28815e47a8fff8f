/**
 * The circuits of a model: one for each gateway key that has seen it fail, and one for all keys.
 *
 * What a key sends can make a model fail: requests that no provider can answer in time, that crash a server,
 * or whose answer is too large. Such failures open the circuit of that key alone; a few of them count for
 * all, too few to open the circuit of all.
 */

import { Breaker, initialAttempt, type CircuitAttempt } from './breaker.ts'

/** Failures of one key among those that count for all: opening that circuit takes three keys. */
const maxFailuresOfKey = 2
/** Keys of which failures are remembered; their own circuits are closed when they are forgotten. */
const maxKeys = 1000

/** An attempt of a key that has begun. */
export interface ModelAttempt {
  readonly keyId: string
  readonly all: CircuitAttempt
  readonly own: CircuitAttempt
}

export class ModelCircuit {
  readonly #all = new Breaker(maxFailuresOfKey)
  readonly #own = new Map<string, Breaker>()

  /** Returns the circuit of all keys. */
  get all (): Breaker {
    return this.#all
  }

  /** Returns the circuit of a key; `undefined` for one that has seen no failure. */
  own (keyId: string): Breaker | undefined {
    return this.#own.get(keyId)
  }

  /** True while the circuit of any key is open. */
  get isOpen (): boolean {
    return this.#all.isOpen || [...this.#own.values()].some(({ isOpen }) => isOpen)
  }

  /**
   * Milliseconds until a key may make a probe, 0 while one is in flight; `undefined` when its calls may be
   * sent.
   */
  openForMs (keyId: string, nowMs: number): number | undefined {
    return this.#own.get(keyId)?.openForMs(nowMs) ?? this.#all.openForMs(nowMs)
  }

  /** Starts an attempt; `ended` must follow in every case. */
  begin (keyId: string, nowMs: number): ModelAttempt {
    const own = this.#own.get(keyId)
    const waits = own?.openForMs(nowMs) !== undefined
    return {
      keyId,
      own: own?.begin(nowMs) ?? initialAttempt,
      all: waits ? { generation: this.#all.generation, isProbe: false } : this.#all.begin(nowMs)
    }
  }

  succeeded ({ keyId, own, all }: ModelAttempt, nowMs: number): void {
    this.#own.get(keyId)?.succeeded(own, nowMs)
    this.#all.succeeded(all, nowMs)
  }

  failed ({ keyId, own, all }: ModelAttempt, nowMs: number): void {
    const circuit = this.#circuit(keyId)
    // A key whose own circuit is open says nothing new, unless its attempt was the probe for all.
    if (!circuit.isOpen || all.isProbe) this.#all.failed(all, nowMs, keyId)
    circuit.failed(own, nowMs)
  }

  /** Turns the newest success of a key into a failure: its answer was cut off. */
  recordStreamFailure (keyId: string, nowMs: number): void {
    this.#circuit(keyId).recordStreamFailure(nowMs)
    this.#all.recordStreamFailure(nowMs, keyId)
  }

  ended ({ keyId, own, all }: ModelAttempt): void {
    this.#own.get(keyId)?.ended(own)
    this.#all.ended(all)
  }

  #circuit (keyId: string): Breaker {
    let own = this.#own.get(keyId)
    if (own !== undefined) return own
    this.#own.set(keyId, own = new Breaker())
    if (this.#own.size > maxKeys) {
      const [oldest = ''] = this.#own.keys()
      this.#own.delete(oldest)
    }
    return own
  }
}
