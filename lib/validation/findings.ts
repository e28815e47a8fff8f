import { shorten } from '../text/shorten.ts'
import type { ValidationDetail } from '../core/errors.ts'

/**
 * The details found so far and the place the walk is at.
 *
 * The place is one list that grows and shrinks with the walk and is copied only into a detail,
 * so walking through the part of a large body that is right allocates nothing.
 */
export class Findings {
  readonly details: ValidationDetail[] = []
  readonly #limit: number
  readonly #path: Array<string | number>

  constructor (limit: number, path: Array<string | number>) {
    this.#limit = limit
    this.#path = path
  }

  /** True when no more details are wanted: the walk ends. */
  get full (): boolean {
    return this.details.length >= this.#limit
  }

  /** Does `step` one level down. */
  at (key: string | number, step: () => void): void {
    this.#path.push(typeof key === 'string' ? shorten(key) : key)
    step()
    this.#path.pop()
  }

  /** Notes a detail here, with as much of `input` as is fit to be shown. */
  add (type: string, msg: string, input: unknown, ctx?: Record<string, unknown>): void {
    if (this.full) return
    const shown = show(input)
    this.details.push({
      loc: [...this.#path],
      msg,
      type,
      ...shown !== undefined && { input: shown },
      ...ctx !== undefined && { ctx }
    })
  }

  /** Findings of their own at the same place, for trying one branch of a union. */
  trial (limit = this.#limit - this.details.length): Findings {
    return new Findings(limit, this.#path)
  }

  /** Takes over what a trial has found. */
  take (trial: Findings): void {
    this.details.push(...trial.details)
  }
}

/** Returns what was sent if it is short: an object or a list says nothing `loc` does not say. */
export function show (input: unknown): string | number | boolean | null | undefined {
  if (typeof input === 'string') return shorten(input)
  return typeof input === 'number' || typeof input === 'boolean' || input === null ? input : undefined
}
