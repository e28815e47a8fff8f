/** A process that reserves a given number of calls at its parent, and keeps them until it dies. */

import { WorkerLimiter } from '../../lib/limits/worker-limiter.ts'
import type { ReservationRequest } from '../../lib/limits/reservation.ts'

const limiter = new WorkerLimiter(process)

process.on(
  'message',
  (message: { readonly count?: number, readonly wanted: ReservationRequest, readonly settle?: number }) => {
    const { count, wanted, settle } = message
    if (settle !== undefined) limiter.settle(settle, { used: { tokens: 1, nanoUsd: 1 } })
    if (count === undefined) return
    void Promise.all(Array.from({ length: count }, async () => await limiter.reserve(wanted))).then(
      verdicts => process.send?.({ verdicts })
    )
  }
)
