/**
 * Limits how many keys a person creates in the dashboard: each takes a row in the store permanently, and
 * lists omit those of the playground. Counted in the process before each creation, so simultaneous requests
 * count as well.
 */

import { ExpiringMap } from '../async/expiring-map.ts'
import { GatewayError } from '../core/errors.ts'

const windowMs = 60 * 60_000
const maxMade = 120
const maxRemembered = 10_000

interface Count {
  made: number
  /** When it is forgotten, by `performance.now()`. */
  readonly untilMs: number
}

export class KeyQuota {
  readonly #counts = new ExpiringMap<Count>(maxRemembered)

  /** @throws GatewayError `rate_limit_exceeded` when the user has created too many within the hour */
  take (userId: string): void {
    const nowMs = performance.now()
    const count = this.#counts.get(userId)
    if (count === undefined) {
      this.#counts.set(userId, { made: 1, untilMs: nowMs + windowMs }, windowMs)
      return
    }
    if (count.made >= maxMade) {
      throw new GatewayError('rate_limit_exceeded', {
        message: `You have created ${maxMade} keys within an hour. Create more later, or with an admin key.`,
        retryAfterSeconds: Math.ceil((count.untilMs - nowMs) / 1000)
      })
    }
    count.made++
  }
}
