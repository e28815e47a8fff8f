/**
 * The circuits of a model: one for each gateway key that has seen it fail, and one for all keys.
 *
 * A key's requests can make a model fail: requests that no provider can answer in time, that crash a server,
 * or whose answer is too large. Such failures open the circuit of that key only. Few of them count for the
 * shared circuit, too few to open it.
 */

import { Breaker, initialAttempt, type CircuitAttempt } from './breaker.ts'

/** How many failures of one key count for the shared circuit: it takes three keys to open it. */
const maxFailuresOfKey = 2
/** Maximum keys with separate circuits; a key that is evicted starts with a closed one. */
const maxKeys = 1000

/** An attempt by a key. */
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

  /** Returns the circuit of a key; `undefined` if it has seen no failure. */
  own (keyId: string): Breaker | undefined {
    return this.#own.get(keyId)
  }

  /** True while any circuit is open. */
  get isOpen (): boolean {
    return this.#all.isOpen || [...this.#own.values()].some(({ isOpen }) => isOpen)
  }

  /**
   * Milliseconds until a key may probe, 0 while a probe is in flight; `undefined` if its calls may be sent
   * now.
   */
  openForMs (keyId: string, nowMs: number): number | undefined {
    return this.#own.get(keyId)?.openForMs(nowMs) ?? this.#all.openForMs(nowMs)
  }

  /** Starts an attempt; `ended` must always follow. */
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
    // A key whose own circuit is open does not count again, unless its attempt was the shared probe.
    if (!circuit.isOpen || all.isProbe) this.#all.failed(all, nowMs, keyId)
    circuit.failed(own, nowMs)
  }

  /** Turns the newest success of a key into a failure, because its answer was cut off. */
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
