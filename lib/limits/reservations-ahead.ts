/**
 * Keeps reservations that a worker has for calls that it expects soon.
 *
 * To ask the primary process took a quarter of the CPU time of a call of a limited key, though nine calls shared a message. A call that
 * finds a reservation here waits for nothing. Only keys with several calls between two messages and without a budget have some: one per
 * cent of each of their limits at most, and only while less than half of it is used. What is not needed is soon given back.
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
  /** The number that was left after the last message. */
  full: number
  /** Calls since the last message, when that was, and the most tokens that one of them wanted. */
  calls: number
  sinceMs: number
  maxTokens: number
  /** Reservations taken since the last check. */
  taken: number
  /** True until the first check after more have come. */
  isFresh: boolean
}

/** Calls of a key between two messages from which on some are reserved ahead. */
const minCalls = 4
/** Milliseconds of calls that there are to be reservations for. */
const aheadMs = 20
/** The shortest time that calls are counted in: a burst says little about the next milliseconds. */
const minCountedMs = 10
/** Reservations of one key that a worker holds for no call, at most: also as a part of each limit. */
const maxAhead = 256
const maxPart = 0.01
/** Tokens that a reservation may hold, as a multiple of those that its call wants. */
const maxExcess = 4
/** Milliseconds between two checks of what is not needed. */
const checkMs = 20

export class ReservationsAhead<R> {
  readonly #stocks = new Map<string, Stock<R>>()
  readonly #giveBack: (reservations: readonly R[]) => void
  /** Stocks with calls since the last message. */
  #called: Array<Stock<R>> = []
  #isChecking = false

  /** @param giveBack is given reservations that no call will need */
  constructor (giveBack: (reservations: readonly R[]) => void) {
    this.#giveBack = giveBack
  }

  /** Notes a call, and returns a reservation for it if there is one that fits. */
  take (keyId: string, limits: KeyLimits, tokens: number): R | undefined {
    const stock = this.#stockOf(keyId, limits)
    if (stock.calls++ === 0) this.#called.push(stock)
    stock.maxTokens = Math.max(stock.maxTokens, tokens)
    if (leftOf(stock) === 0 || !fits(stock.tokens, tokens)) return undefined
    stock.taken++
    return stock.reservations[stock.next++]
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
      const tokens = fits(stock.tokens, maxTokens) ? stock.tokens : maxTokens
      const expected = Math.ceil(calls * aheadMs / Math.max(minCountedMs, nowMs - stock.sinceMs))
      const count = Math.min(expected, maxAheadOf(limits, tokens)) - (tokens === stock.tokens ? leftOf(stock) : 0)
      stock.calls = 0
      stock.sinceMs = nowMs
      stock.maxTokens = 0
      stock.full = leftOf(stock)
      if (calls >= minCalls && count > 0) wishes.push({ keyId, limits, count, tokens })
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
    stock.isFresh = true
  }

  giveAllBack (): void {
    for (const stock of this.#stocks.values()) this.#remove(stock)
    this.#called = []
  }

  #stockOf (keyId: string, limits: KeyLimits): Stock<R> {
    const known = this.#stocks.get(keyId)
    if (known !== undefined && areSame(known.limits, limits)) return known
    // The configuration was reloaded.
    if (known !== undefined) this.#remove(known)
    const stock: Stock<R> = { keyId, limits, tokens: 0, reservations: [], next: 0, full: 0, calls: 0, sinceMs: performance.now(), maxTokens: 0, taken: 0, isFresh: true }
    this.#stocks.set(keyId, stock)
    if (!this.#isChecking) this.#checkLater()
    return stock
  }

  /** Gives back what is more than twice of what was taken in the time between two checks. */
  #checkLater (): void {
    this.#isChecking = true
    setTimeout(() => {
      for (const stock of this.#stocks.values()) {
        const { taken, isFresh } = stock
        stock.taken = 0
        stock.isFresh = false
        if (isFresh) continue
        if (taken === 0) this.#remove(stock)
        else if (leftOf(stock) > 2 * taken) this.#giveBack(stock.reservations.splice(stock.next + 2 * taken))
      }
      this.#isChecking = false
      if (this.#stocks.size > 0) this.#checkLater()
    }, checkMs).unref()
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

function fits (tokens: number, wanted: number): boolean {
  return wanted <= tokens && tokens <= wanted * maxExcess
}

function maxAheadOf ({ requestsPerMinute = Infinity, tokensPerMinute = Infinity, concurrentCalls = Infinity }: KeyLimits, tokens: number): number {
  return Math.min(maxAhead, Math.floor(maxPart * Math.min(requestsPerMinute, concurrentCalls, tokensPerMinute / Math.max(1, tokens))))
}

/** Compares limits per minute: each key of a project has an object of its own with the limits of that. */
function areSame (one: KeyLimits, other: KeyLimits): boolean {
  return one === other || (
    one.requestsPerMinute === other.requestsPerMinute && one.tokensPerMinute === other.tokensPerMinute && one.concurrentCalls === other.concurrentCalls
  )
}
