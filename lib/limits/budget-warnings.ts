/** Logs `soft budget exceeded`, once per window and process. */

import { PrunedMap } from '../async/pruned-map.ts'
import type { Call } from '../core/call.ts'
import type { ExceededBudget } from '../core/record.ts'
import type { Log } from '../log/log.ts'

/** Remembers until when each exhausted budget has been logged. */
export class BudgetWarnings {
  readonly #log: Pick<Log, 'warn'>
  readonly #now: () => number
  /** The ends of the windows that have been logged. One without an end is forgotten when there are many. */
  readonly #logged = new PrunedMap<number>(endMs => endMs <= this.#now() || endMs === Infinity)

  /** @param now returns Unix milliseconds */
  constructor (log: Pick<Log, 'warn'>, now: () => number = Date.now) {
    this.#log = log
    this.#now = now
  }

  /** Logs the exceeded budgets of a call that have not been logged in their current window. */
  note ({ id, record }: Pick<Call, 'id' | 'record'>, exceeded: readonly ExceededBudget[]): void {
    for (const { party, budget, endMs } of exceeded) {
      const name = `${party} ${budget}`
      if (this.#logged.get(name) === endMs) continue
      this.#logged.set(name, endMs)
      const isNamed = party.startsWith('end_user:') && !record.guards.awaitsInspection
      const endUser = isNamed ? record.caller.endUser : undefined
      this.#log.warn(
        {
          id,
          party,
          ...endUser !== undefined && { end_user: endUser },
          budget,
          ...endMs !== Infinity && { until: new Date(endMs).toISOString() }
        },
        'soft budget exceeded'
      )
    }
  }
}
