/**
 * Chooses among several credentials of one provider: drawn by weight, those that are cooling down last.
 *
 * A credential cools down when the provider limits or rejects it, or reports that its quota is used up; the others do not.
 */

import type { GatewayError } from '../core/errors.ts'

/** The time a credential rests whose limit is used up, where the provider does not say. */
const limitedMs = 5000
/** The same for one that was refused or whose quota is used up: that takes someone to change it. */
const refusedMs = 60_000

type KeyFailure = Pick<GatewayError, 'fault' | 'retryAfterSeconds'>

/** Returns true for a failure that is one of the credential: 401, 402, 403, 429, an exhausted quota. */
export function isOfCredential ({ fault }: Pick<GatewayError, 'fault'>): boolean {
  return fault === 'rate_limit' || fault === 'credential'
}

export class CredentialPool {
  readonly #now: () => number
  readonly #random: () => number
  #weights: readonly number[]
  /** By the place of the credential, like the weights. */
  readonly #notBeforeMs: number[] = []

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

  /** Returns the place of a credential that is ready, drawn by weight; else of the one that is ready first. */
  choose (): number {
    const places = this.#weights.map((_, place) => place)
    return this.#draw(places.filter(place => this.#restMs(place) === 0)) ?? places.toSorted((a, b) => this.#restMs(a) - this.#restMs(b))[0] ?? 0
  }

  /** Returns the place of another credential that is ready; `undefined` when there is none. */
  another (tried: ReadonlySet<number>): number | undefined {
    return this.#draw(this.#weights.map((_, place) => place).filter(place => !tried.has(place) && this.#restMs(place) === 0))
  }

  /** Lets a credential cool down: for as long as the provider said, else for a usual time. @returns milliseconds from now */
  onFailure (place: number, { fault, retryAfterSeconds = 0 }: KeyFailure): number {
    this.rest(place, retryAfterSeconds > 0 ? retryAfterSeconds * 1000 : fault === 'rate_limit' ? limitedMs : refusedMs)
    return this.#restMs(place)
  }

  /** Lets a credential cool down for some milliseconds from now at least. */
  rest (place: number, forMs: number): void {
    this.#notBeforeMs[place] = Math.max(this.#notBeforeMs[place] ?? 0, this.#now() + forMs)
  }

  /** Number of credentials that are ready. */
  get ready (): number {
    return this.#weights.filter((_, place) => this.#restMs(place) === 0).length
  }

  /** Milliseconds until one of them is ready. */
  get cooldownMs (): number {
    return Math.min(...this.#weights.map((_, place) => this.#restMs(place)))
  }

  #restMs (place: number): number {
    const notBeforeMs = this.#notBeforeMs[place]
    return notBeforeMs === undefined ? 0 : Math.max(0, notBeforeMs - this.#now())
  }

  /** Draws one by weight; weight 0 comes after all others. */
  #draw (places: readonly number[]): number | undefined {
    const weighed = places.map(place => ({ place, weight: this.#weights[place] ?? 0 }))
    let drawn = this.#random() * weighed.reduce((sum, { weight }) => sum + weight, 0)
    for (const { place, weight } of weighed) {
      if (weight > 0 && drawn < weight) return place
      drawn -= weight
    }
    return places[0]
  }
}
