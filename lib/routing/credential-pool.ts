/**
 * Chooses among several credentials of one provider: drawn by weight, those cooling down last.
 *
 * A credential cools down when the provider rate-limits or rejects it, or reports that its quota is used up.
 * A provider may also reject the content of a call, so a rejected credential cools down only for that gateway
 * key until it is rejected for another one.
 */

import type { CallSession } from '../core/call.ts'
import { weightedKey } from '../models/weighted-key.ts'
import type { GatewayError } from '../core/errors.ts'

/** Cooldown of a rate-limited credential in milliseconds, unless the provider specifies one. */
const limitedMs = 5000
/** Cooldown in milliseconds after a rejection or a used-up quota, which needs a person to act. */
const refusedMs = 60_000

type CredentialFailure = Pick<GatewayError, 'code' | 'fault' | 'retryAfterSeconds'>

/** The gateway key whose call was the last one rejected with a credential. */
interface Rejected {
  readonly keyId: string
  readonly untilMs: number
}

/** Returns true for a failure caused by the credential: 401, 402, 403, 429, an exhausted quota. */
export function isOfCredential ({ fault }: Pick<GatewayError, 'fault'>): boolean {
  return fault === 'rate_limit' || fault === 'credential'
}

export class CredentialPool {
  readonly #now: () => number
  readonly #random: () => number
  #weights: readonly number[]
  /** By index of the credential, like the weights. */
  readonly #notBeforeMs: number[] = []
  readonly #rejected: Array<Rejected | undefined> = []

  /** @param now returns monotonic milliseconds */
  constructor (weights: readonly number[], now: () => number, random: () => number = Math.random) {
    this.#weights = weights
    this.#now = now
    this.#random = random
  }

  get size (): number {
    return this.#weights.length
  }

  /** Replaces the weights of the credentials. */
  weigh (weights: readonly number[]): void {
    this.#weights = weights
  }

  /**
   * Returns the index of a credential that is ready for a gateway key, drawn by weight; if none is, the one
   * that will be ready first.
   *
   * @param session keeps its credential between calls. Default: drawn for each call
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
   * Returns the index of another credential that is ready for a gateway key; `undefined` if there is none.
   */
  another (tried: ReadonlySet<number>, keyId: string): number | undefined {
    return this.#draw(
      this.#weights
        .map((_, index) => index)
        .filter(index => !tried.has(index) && this.isReady(index, keyId))
    )
  }

  /**
   * Starts the cooldown of a credential, with the provider's duration or the default.
   *
   * @param keyId the gateway key of the call
   * @returns milliseconds from now; 0 if it cools down for that key only
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

  /** Makes a credential cool down for at least some milliseconds from now. */
  rest (index: number, forMs: number): void {
    this.#notBeforeMs[index] = Math.max(this.#notBeforeMs[index] ?? 0, this.#now() + forMs)
  }

  /** Number of ready credentials. */
  get ready (): number {
    return this.#weights.filter((_, index) => this.#restMs(index) === 0).length
  }

  /** Milliseconds until a credential is ready. */
  get cooldownMs (): number {
    return Math.min(...this.#weights.map((_, index) => this.#restMs(index)))
  }

  /** @param keyId a gateway key whose own cooldowns also count */
  #restMs (index: number, keyId?: string): number {
    const rejected = this.#rejected[index]
    const untilMs = Math.max(
      this.#notBeforeMs[index] ?? 0,
      rejected !== undefined && rejected.keyId === keyId ? rejected.untilMs : 0
    )
    return untilMs === 0 ? 0 : Math.max(0, untilMs - this.#now())
  }

  /** Draws a credential by weight; those with weight 0 come last. */
  #draw (indexes: readonly number[], session?: CallSession): number | undefined {
    const keys = indexes.map(index =>
      weightedKey(this.#weights[index] ?? 0, session?.draw(`credential ${index}`) ?? this.#random())
    )
    return indexes[keys.indexOf(Math.min(...keys))]
  }
}
