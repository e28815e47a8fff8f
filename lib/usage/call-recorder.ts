import { usageRow } from './usage-row.ts'
import type { Call } from '../core/call.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Used } from '../limits/counters.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { UsageRow } from '../stores/tables.ts'
import type { Ledger } from './ledger.ts'

export interface CallRecorderParts {
  /** Absent without a database: reservations are settled all the same. */
  readonly ledger: Ledger | undefined
  readonly limiter: Limiter
  /** Reads the prices that hold now. */
  readonly models: () => Pick<ModelRegistry, 'find'>
}

/** Makes the usage row of each call, once: for the ledger, and to settle what was reserved for the call. */
export class CallRecorder {
  readonly #parts: CallRecorderParts
  readonly #announced = new WeakMap<Call, UsageRow>()

  constructor (parts: CallRecorderParts) {
    this.#parts = parts
  }

  /**
   * Puts a call on record that is about to answer completely. Its last byte must wait for the result:
   * the journal, written once for all calls of a turn of the event loop.
   */
  announce (call: Call): Promise<void> | undefined {
    const { ledger, models } = this.#parts
    if (ledger === undefined || call.record.keyId === undefined) return undefined
    const row = usageRow(call, models())
    if (row === undefined) return undefined
    this.#announced.set(call, row)
    return ledger.announce(row)
  }

  /** Takes a call that has ended. @returns its row; `undefined` for a call without a valid key */
  end (call: Call): UsageRow | undefined {
    const { ledger, limiter } = this.#parts
    let row: UsageRow | undefined
    try {
      row = this.#rowOf(call)
      if (row !== undefined) void ledger?.add(row)
      return row
    } finally {
      const { reservation, attempts } = call.record
      if (reservation !== undefined) limiter.settle(reservation, { ...usedIn(row), moreRequests: Math.max(0, attempts - 1) })
    }
  }

  /** Returns the row that is on record, unless the call ended otherwise after all. */
  #rowOf (call: Call): UsageRow | undefined {
    const announced = this.#announced.get(call)
    if (announced === undefined) return usageRow(call, this.#parts.models())
    const { outcome = 'ok', status, settled } = call.record
    if (outcome === announced.outcome && status === announced.status && settled === undefined) return announced
    const row = usageRow(call, this.#parts.models())
    return row === undefined ? announced : { ...row, id: announced.id, at_ms: announced.at_ms }
  }
}

function usedIn ({ prompt_tokens: prompt, completion_tokens: completion, cost_nano_usd: nanoUsd }: Partial<UsageRow> = {}): Used {
  return { tokens: (prompt ?? 0) + (completion ?? 0), nanoUsd: nanoUsd ?? 0 }
}
