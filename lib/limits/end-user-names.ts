/**
 * Bounds how many end users of a project have sums of their own. Callers choose these names: without a bound
 * a caller could fill memory, Redis and the store with them.
 */

import { withTimeout } from '../async/with-timeout.ts'
import { PrunedMap } from '../async/pruned-map.ts'
import { endUserWaitMs } from './spending-reader.ts'

/** End users of a project with sums of their own in a month of UTC. */
export const maxEndUsers = 10_000
/** The name that all others have together. */
export const otherEndUsers = '(other)'

/** Lists the end users of a project that have spent something in a month of UTC, at most `maxEndUsers`. */
export type ReadEndUsers = (project: string, monthFromMs: number) => Promise<readonly string[]>

interface Month {
  readonly endMs: number
  readonly names: Set<string>
  reading: Promise<void> | undefined
}

export class EndUserNames {
  readonly #read: ReadEndUsers | undefined
  readonly #months: PrunedMap<Month>
  #nowMs = 0

  /** @param read Default: there is no store */
  constructor (read: ReadEndUsers | undefined) {
    this.#read = read
    this.#months = new PrunedMap(({ endMs }) => endMs <= this.#nowMs)
  }

  /**
   * Returns the name, or the one for all others. Takes no place. Waits for the store at the first call of a
   * month.
   */
  find (project: string, name: string, nowMs: number): string | Promise<string> {
    const month = this.#monthOf(project, nowMs)
    return month.reading === undefined ? found(month, name) : month.reading.then(() => found(month, name))
  }

  /** Gives a name its place, once a call under it is admitted: refused calls take none. */
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
        // They get names here when they call.
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
