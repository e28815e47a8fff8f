import { usageRow } from './usage-row.ts'
import type { Call } from '../core/call.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { ActualUsage } from '../limits/counters.ts'
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
  readonly #recorded = new WeakMap<Call, UsageRow>()

  constructor (parts: CallRecorderParts) {
    this.#parts = parts
  }

  /**
   * Journals a call just before its last byte is sent. Its last byte must wait for the result:
   * the journal, written once for all calls of a turn of the event loop.
   */
  recordBeforeLastByte (call: Call): Promise<void> | undefined {
    const { ledger, models } = this.#parts
    if (ledger === undefined || call.record.keyId === undefined) return undefined
    const row = usageRow(call, models())
    if (row === undefined) return undefined
    this.#recorded.set(call, row)
    return ledger.recordBeforeLastByte(row)
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

  /** Returns the row that is on record, unless its outcome has changed since. */
  #rowOf (call: Call): UsageRow | undefined {
    const recorded = this.#recorded.get(call)
    if (recorded === undefined) return usageRow(call, this.#parts.models())
    const { outcome = 'ok', status, whenUsageKnown } = call.record
    if (outcome === recorded.outcome && status === recorded.status && whenUsageKnown === undefined) return recorded
    const row = usageRow(call, this.#parts.models())
    return row === undefined ? recorded : { ...row, id: recorded.id, at_ms: recorded.at_ms }
  }
}

function usedIn ({ prompt_tokens: prompt, completion_tokens: completion, cost_nano_usd: nanoUsd }: Partial<UsageRow> = {}): ActualUsage {
  return { tokens: (prompt ?? 0) + (completion ?? 0), nanoUsd: nanoUsd ?? 0 }
}
