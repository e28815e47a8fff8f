/**
 * Prints and reads the short row of a call whose request has just been sent to a provider. If this process is
 * killed, the row shows that a provider was working on the call.
 *
 * Most calls write one, so it is kept to 150 bytes; the row at the end of a call takes 640.
 */

import { cutName } from '../core/record.ts'
import { rowId } from '../text/ids.ts'
import { steadyNow } from '../async/steady-clock.ts'
import { charactersPerToken, usageOfTokens } from '../core/usage.ts'
import { costNanoUsd } from './cost.ts'
import { interruptedCost } from './call-cost.ts'
import { endpointsWhere } from '../../schemas/endpoints.ts'
import type { Call } from '../core/call.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import { emptyRow } from '../stores/usage-columns.ts'
import type { UsageRow } from '../stores/tables.ts'

export interface BegunRow extends Pick<UsageRow, 'id' | 'at_ms'> {
  readonly line: string
}

/** The values of a line, in order: part of the journal format. */
const columns = [
  'id',
  'call_id',
  'at_ms',
  'key_id',
  'endpoint',
  'requested_model',
  'model',
  'provider',
  'streamed',
  'own_provider_key',
  'prompt_tokens',
  'cost_nano_usd'
] as const

const promptEndpoints: ReadonlySet<string> = new Set(endpointsWhere('billsPrompt'))
/** Bodies up to this size are assumed to be mostly text. */
const maxBytes = 64 * 1024

/**
 * Prints the short row of a call that has no trace, no attribution and no cost so far, and whose prompt is
 * about as long as its body; `undefined` for other calls, which need a complete row.
 */
export function printBegunRow (
  { id: callId, record, receivedAtMs }: Call,
  models: Pick<ModelRegistry, 'find'>
): BegunRow | undefined {
  const {
    endpoint,
    request: { bodyBytes, requestedModel, isStreamed },
    caller: { keyId, usesOwnProviderKey },
    routing: { modelId, providerId },
    trace
  } = record
  if (
    keyId === undefined ||
    modelId === undefined ||
    bodyBytes > maxBytes ||
    !promptEndpoints.has(endpoint)
  ) {
    return undefined
  }
  if (trace !== undefined) return undefined // the full row carries it, for its span after a kill
  if (record.usage.judgeRequests !== undefined) return undefined // guards have already spent money
  const { tags, endUser, session, metadata, parties } = record.caller
  if (tags ?? endUser ?? session ?? metadata ?? parties) return undefined
  const id = record.limits.rowId ?? rowId()
  const atMs = Math.round(steadyNow() - performance.now() + receivedAtMs)
  const tokens = Math.ceil(bodyBytes / charactersPerToken)
  const cost =
    usesOwnProviderKey === true
      ? 0
      : costNanoUsd(usageOfTokens(tokens, 0), models.find(modelId)?.price)
  const values = [
    id,
    callId,
    atMs,
    keyId,
    endpoint,
    requestedModel === undefined ? null : cutName(requestedModel),
    cutName(modelId),
    providerId ?? null,
    Number(isStreamed === true),
    Number(usesOwnProviderKey === true),
    tokens,
    interruptedCost(record, cost ?? null)
  ]
  return { id, at_ms: atMs, line: JSON.stringify(values) }
}

/** Returns the complete row for a line: interrupted, with estimated usage. */
export function readBegunRow (values: readonly unknown[]): UsageRow {
  // in the order printed above
  const fields = Object.fromEntries(columns.map((column, index) => [column, values[index]])) as Pick<
    UsageRow,
    (typeof columns)[number]
  >
  return { ...emptyRow, ...fields }
}
