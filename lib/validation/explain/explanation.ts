/** Collects what is wrong with a request. */

import { shorten } from '../../text/shorten.ts'
import type { ValidationDetail } from '../../core/errors.ts'

/**
 * The details found so far, and the current path.
 *
 * The path is one list that grows and shrinks during the walk and is copied only into details, so walking
 * through the correct part of a large body allocates nothing.
 */
export class Explanation {
  readonly details: ValidationDetail[] = []
  readonly #limit: number
  readonly #path: Array<string | number>

  constructor (limit: number, path: Array<string | number>) {
    this.#limit = limit
    this.#path = path
  }

  /** True if no more details are wanted, which ends the walk. */
  get isFull (): boolean {
    return this.details.length >= this.#limit
  }

  /** Runs `step` one level down. */
  at (key: string | number, step: () => void): void {
    this.#path.push(typeof key === 'string' ? shorten(key) : key)
    step()
    this.#path.pop()
  }

  /** Adds a detail at the current path, with as much of `input` as may be shown. */
  add (type: string, msg: string, input: unknown, ctx?: Record<string, unknown>): void {
    if (this.isFull) return
    const shown = show(input)
    this.details.push({
      loc: [...this.#path],
      msg,
      type,
      ...shown !== undefined && { input: shown },
      ...ctx !== undefined && { ctx }
    })
  }

  /** Returns a separate explanation of the same path, for trying one branch of a union. */
  trial (limit = this.#limit - this.details.length): Explanation {
    return new Explanation(limit, this.#path)
  }

  /** Adopts the details of a trial. */
  take (trial: Explanation): void {
    this.details.push(...trial.details)
  }
}

/** Returns the input if it is short. Objects and lists are omitted: `loc` already locates the error. */
export function show (input: unknown): string | number | boolean | null | undefined {
  if (typeof input === 'string') return shorten(input)
  return typeof input === 'number' || typeof input === 'boolean' || input === null ? input : undefined
}
