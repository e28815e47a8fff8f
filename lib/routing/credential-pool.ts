/**
 * Chooses among several credentials of one provider: drawn by weight, those that are cooling down last.
 *
 * A credential cools down when the provider limits or rejects it, or reports that its quota is used up; the
 * others do not. A provider may also reject what a call names, so a credential that is rejected rests for
 * that gateway key alone until it is rejected for another one.
 */

import { weightedKey, type CallSession } from '../core/call-session.ts'
import type { GatewayError } from '../core/errors.ts'

/** Milliseconds that a rate-limited credential rests, where the provider does not say. */
const limitedMs = 5000
/** Milliseconds that a credential rests after it was refused or its quota was used up: a person must act. */
const refusedMs = 60_000

type CredentialFailure = Pick<GatewayError, 'code' | 'fault' | 'retryAfterSeconds'>

/** The gateway key for whose call a credential was rejected last. */
interface Rejected {
  readonly keyId: string
  readonly untilMs: number
}

/** Returns true for a failure that is one of the credential: 401, 402, 403, 429, an exhausted quota. */
export function isOfCredential ({ fault }: Pick<GatewayError, 'fault'>): boolean {
  return fault === 'rate_limit' || fault === 'credential'
}

export class CredentialPool {
  readonly #now: () => number
  readonly #random: () => number
  #weights: readonly number[]
  /** By the index of the credential, like the weights. */
  readonly #notBeforeMs: number[] = []
  readonly #rejected: Array<Rejected | undefined> = []

  /** @param now milliseconds of a clock that never goes back */
  constructor (weights: readonly number[], now: () => number, random: () => number = Math.random) {
    this.#weights = weights
    this.#now = now
    this.#random = random
  }

  get size (): number {
    return this.#weights.length
  }

  /** Takes over other weights of the same credentials. */
  weigh (weights: readonly number[]): void {
    this.#weights = weights
  }

  /**
   * Returns the index of a credential that is ready for a gateway key, drawn by weight; else of the one that
   * is ready first.
   *
   * @param session gets the same one as before. Default: it is drawn anew
   */
  choose (keyId: string, session?: CallSession): number {
    const indexes = this.#weights.map((_, index) => index)
    return (
      this.#draw(indexes.filter(index => this.isReady(index, keyId)), session) ??
      indexes.toSorted((a, b) => this.#restMs(a, keyId) - this.#restMs(b, keyId))[0] ??
      0
    )
  }

  /** True for a credential that is not cooling down for a gateway key. */
  isReady (index: number, keyId: string): boolean {
    return this.#restMs(index, keyId) === 0
  }

  /**
   * Returns the index of another credential that is ready for a gateway key; `undefined` when there is none.
   */
  another (tried: ReadonlySet<number>, keyId: string): number | undefined {
    return this.#draw(
      this.#weights
        .map((_, index) => index)
        .filter(index => !tried.has(index) && this.isReady(index, keyId))
    )
  }

  /**
   * Lets a credential cool down: for as long as the provider said, else for a usual time.
   *
   * @param keyId of the gateway key whose call it was
   * @returns milliseconds from now, 0 where it rests for that key alone
   */
  onFailure (
    index: number,
    { code, fault, retryAfterSeconds = 0 }: CredentialFailure,
    keyId: string
  ): number {
    const forMs =
      retryAfterSeconds > 0 ? retryAfterSeconds * 1000 : fault === 'rate_limit' ? limitedMs : refusedMs
    const before = this.#rejected[index]
    const isOfKey =
      code === 'upstream_auth_failed' &&
      (before === undefined || before.keyId === keyId || before.untilMs <= this.#now())
    if (isOfKey) this.#rejected[index] = { keyId, untilMs: this.#now() + forMs }
    else this.rest(index, forMs)
    return this.#restMs(index)
  }

  /** Lets a credential cool down for some milliseconds from now at least. */
  rest (index: number, forMs: number): void {
    this.#notBeforeMs[index] = Math.max(this.#notBeforeMs[index] ?? 0, this.#now() + forMs)
  }

  /** Number of credentials that are ready. */
  get ready (): number {
    return this.#weights.filter((_, index) => this.#restMs(index) === 0).length
  }

  /** Milliseconds until one of them is ready. */
  get cooldownMs (): number {
    return Math.min(...this.#weights.map((_, index) => this.#restMs(index)))
  }

  /** @param keyId of a gateway key for whose calls alone it may rest as well */
  #restMs (index: number, keyId?: string): number {
    const rejected = this.#rejected[index]
    const untilMs = Math.max(
      this.#notBeforeMs[index] ?? 0,
      rejected !== undefined && rejected.keyId === keyId ? rejected.untilMs : 0
    )
    return untilMs === 0 ? 0 : Math.max(0, untilMs - this.#now())
  }

  /** Draws one by weight; weight 0 comes after all others. */
  #draw (indexes: readonly number[], session?: CallSession): number | undefined {
    const keys = indexes.map(index =>
      weightedKey(this.#weights[index] ?? 0, session?.draw(`credential ${index}`) ?? this.#random())
    )
    return indexes[keys.indexOf(Math.min(...keys))]
  }
}
