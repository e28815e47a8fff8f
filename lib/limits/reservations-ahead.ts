/**
 * Keeps reservations that a worker has for calls that it expects soon.
 *
 * A message to the primary process and its answer took a quarter of a call of a limited key, though nine calls shared them. A call
 * that finds a reservation here waits for nothing. Only keys with several calls between two messages and without a budget have some, and
 * only while less than half of each of their limits is used: what one worker holds is missing to no other. What no call has
 * needed for a while is given back.
 */

import type { KeyLimits } from '../core/key.ts'

/** Asks for reservations for one key: so many, each with so many tokens. */
export interface Wish {
  readonly keyId: string
  readonly limits: KeyLimits
  readonly count: number
  readonly tokens: number
}

interface Stock<R> {
  readonly keyId: string
  readonly limits: KeyLimits
  /** Tokens that each of `reservations` holds. */
  tokens: number
  reservations: R[]
  /** The place of the first one that is left. */
  next: number
  /** The number that was left when the last ones came. */
  full: number
  /** Calls since the last message, when that was, and the most tokens that one of them wanted. */
  calls: number
  sinceMs: number
  maxTokens: number
  isIdle: boolean
}

/** Calls of a key between two messages from which on some are reserved ahead. */
const minCalls = 4
/** Milliseconds of calls that there are to be reservations for. */
const aheadMs = 20
/** Reservations of one key that a worker holds for no call, at most. */
const maxAhead = 256
/** Tokens that they may hold, as a multiple of those that their calls want. */
const maxExcess = 4
/** Milliseconds after which those of a key without calls are given back; at most twice as long. */
const idleMs = 20

export class ReservationsAhead<R> {
  readonly #stocks = new Map<string, Stock<R>>()
  readonly #giveBack: (reservations: readonly R[]) => void
  /** Those with calls since the last message. */
  #called: Array<Stock<R>> = []

  /** @param giveBack is given reservations that no call will need */
  constructor (giveBack: (reservations: readonly R[]) => void) {
    this.#giveBack = giveBack
  }

  /** Notes a call, and returns a reservation for it if there is one that is large enough. */
  take (keyId: string, limits: KeyLimits, tokens: number): R | undefined {
    const stock = this.#stockOf(keyId, limits)
    if (stock.calls++ === 0) this.#called.push(stock)
    stock.maxTokens = Math.max(stock.maxTokens, tokens)
    stock.isIdle = false
    return leftOf(stock) === 0 || tokens > stock.tokens ? undefined : stock.reservations[stock.next++]
  }

  /** Returns true when half of what a key had is used: it is time for more. */
  isLow (keyId: string): boolean {
    const stock = this.#stocks.get(keyId)
    return stock !== undefined && leftOf(stock) * 2 < stock.full
  }

  /** Returns what to reserve ahead with the message that is sent now. */
  wishes (): Wish[] {
    const wishes: Wish[] = []
    const nowMs = performance.now()
    for (const stock of this.#called) {
      const { keyId, limits, calls, maxTokens } = stock
      // Its limits are others by now, or it has been given back.
      if (this.#stocks.get(keyId) !== stock) continue
      const isEnough = maxTokens <= stock.tokens && stock.tokens <= maxTokens * maxExcess
      const expected = Math.ceil(calls * aheadMs / Math.max(1, nowMs - stock.sinceMs))
      const count = Math.min(maxAhead, expected) - (isEnough ? leftOf(stock) : 0)
      stock.calls = 0
      stock.sinceMs = nowMs
      stock.maxTokens = 0
      if (calls >= minCalls && count > 0) wishes.push({ keyId, limits, count, tokens: isEnough ? stock.tokens : maxTokens })
      else stock.full = leftOf(stock)
    }
    this.#called = []
    return wishes
  }

  /** Adds what was reserved: for a wish, or for a part of it. */
  add ({ keyId, limits, tokens }: Pick<Wish, 'keyId' | 'limits' | 'tokens'>, reservations: readonly R[]): void {
    if (reservations.length === 0) return
    const stock = this.#stockOf(keyId, limits)
    const left = stock.reservations.slice(stock.next)
    if (stock.tokens !== tokens && left.length > 0) this.#giveBack(left.splice(0))
    stock.tokens = tokens
    stock.reservations = [...left, ...reservations]
    stock.next = 0
    stock.full = stock.reservations.length
  }

  giveAllBack (): void {
    for (const stock of this.#stocks.values()) this.#remove(stock)
    this.#called = []
  }

  #stockOf (keyId: string, limits: KeyLimits): Stock<R> {
    const known = this.#stocks.get(keyId)
    // The configuration was reloaded.
    if (known !== undefined && known.limits !== limits) this.#remove(known)
    else if (known !== undefined) return known
    const stock: Stock<R> = { keyId, limits, tokens: 0, reservations: [], next: 0, full: 0, calls: 0, sinceMs: performance.now(), maxTokens: 0, isIdle: false }
    if (this.#stocks.size === 0) this.#checkLater()
    this.#stocks.set(keyId, stock)
    return stock
  }

  #checkLater (): void {
    setTimeout(() => {
      for (const stock of this.#stocks.values()) {
        if (stock.isIdle) this.#remove(stock)
        stock.isIdle = true
      }
      if (this.#stocks.size > 0) this.#checkLater()
    }, idleMs).unref()
  }

  #remove (stock: Stock<R>): void {
    this.#stocks.delete(stock.keyId)
    const left = stock.reservations.slice(stock.next)
    if (left.length > 0) this.#giveBack(left)
  }
}

function leftOf ({ reservations, next }: Stock<unknown>): number {
  return reservations.length - next
}
