/** Builds the span of a call whose process was killed, from its journaled usage row. */

import { cutName } from '../core/record.ts'
import { readSteps, type TraceStep } from '../usage/call-steps.ts'
import type { UsageRow } from '../stores/tables.ts'
import type { Attributes } from './call-spans.ts'

export interface RecoveredSpan {
  readonly name: string
  readonly trace: TraceStep
  /** Unix milliseconds. */
  readonly startedAtMs: number
  /** When the call was last journaled. */
  readonly endedAt: number
  readonly attributes: Attributes
}

/** Returns the span of an interrupted call; `undefined` for other calls and without a sampled trace. */
export function recoveredSpan (row: UsageRow): RecoveredSpan | undefined {
  if (row.outcome !== 'interrupted') return undefined
  const { trace } = readSteps(row)
  if (trace?.sampled !== true) return undefined
  return {
    name: row.endpoint,
    trace,
    startedAtMs: row.at_ms,
    endedAt: row.at_ms + row.duration_ms,
    attributes: {
      'gen_ai.conversation.id': row.session ?? undefined,
      'session.id': row.session ?? undefined,
      'user.id': row.end_user ?? undefined,
      'headgate.recovered': true,
      'headgate.call.id': row.call_id,
      'headgate.endpoint': row.endpoint,
      'headgate.key.id': row.key_id,
      'headgate.requested_model': row.requested_model === null ? undefined : cutName(row.requested_model),
      'headgate.model': row.model ?? undefined,
      'headgate.provider': row.provider ?? undefined,
      'headgate.outcome': row.outcome,
      'headgate.attempts': row.attempts,
      'headgate.usage.input_tokens': row.prompt_tokens ?? undefined,
      'headgate.usage.output_tokens': row.completion_tokens ?? undefined,
      'headgate.usage.estimated': row.estimated === 1,
      'headgate.cost_usd': row.cost_nano_usd === null ? undefined : row.cost_nano_usd / 1e9
    }
  }
}
