/**
 * Bounds how many end users of a project have separate sums. Callers choose these names; without a bound a
 * caller could fill memory, Redis and the store.
 */

import { withTimeout } from '../async/with-timeout.ts'
import { PrunedMap } from '../async/pruned-map.ts'

/** End users of a project with separate sums in one UTC month. */
export const maxEndUsers = 10_000
/** The shared name of all further end users. */
export const otherEndUsers = '(other)'

/**
 * Longest wait for the end users of a project, or for the spending of one, in milliseconds. Callers choose
 * these names and can send new ones at any rate.
 */
export const endUserWaitMs = 250

/** Lists the end users of a project with spending in a UTC month, at most `maxEndUsers`. */
export type ReadEndUsers = (project: string, monthFromMs: number) => Promise<readonly string[]>

interface Month {
  readonly endMs: number
  readonly names: Set<string>
  reading: Promise<void> | undefined
}

/** The end users of each project in the current month. */
export class EndUserNames {
  readonly #read: ReadEndUsers | undefined
  readonly #months: PrunedMap<Month>
  #nowMs = 0

  /** @param read Default: no store */
  constructor (read: ReadEndUsers | undefined) {
    this.#read = read
    this.#months = new PrunedMap(({ endMs }) => endMs <= this.#nowMs)
  }

  /**
   * Returns the name, or the shared one if the project is full. Does not add the name. The first call of a
   * month waits for the store.
   */
  find (project: string, name: string, nowMs: number): string | Promise<string> {
    const month = this.#monthOf(project, nowMs)
    return month.reading === undefined ? found(month, name) : month.reading.then(() => found(month, name))
  }

  /** Adds a name once one of its calls is admitted; refused calls add none. */
  take (project: string, name: string, nowMs: number): void {
    if (name !== otherEndUsers) this.#monthOf(project, nowMs).names.add(name)
  }

  #monthOf (project: string, nowMs: number): Month {
    this.#nowMs = nowMs
    const current = this.#months.get(project)
    if (current !== undefined && current.endMs > nowMs) return current
    const now = new Date(nowMs)
    const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
    const started: Month = { endMs: Date.UTC(year, month + 1), names: new Set(), reading: undefined }
    this.#months.set(project, started)
    if (this.#read !== undefined) {
      const read = this.#read(project, Date.UTC(year, month)).then(
        names => { for (const name of names) started.names.add(name) },
        // Names are then added as they call.
        () => undefined
      )
      started.reading = withTimeout(endUserWaitMs, read).then(() => { started.reading = undefined })
    }
    return started
  }
}

function found ({ names }: Month, name: string): string {
  return names.has(name) || names.size < maxEndUsers ? name : otherEndUsers
}
