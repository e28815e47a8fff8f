/** A call as a row of the usage ledger. */

import { rowId } from '../text/ids.ts'
import { steadyNow } from '../async/steady-clock.ts'
import { costNanoUsd } from './cost.ts'
import type { Call } from '../core/call.ts'
import type { CallRecord } from '../core/record.ts'
import type { Usage } from '../core/usage.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { UsageRow } from '../stores/tables.ts'

/** Characters of text that make about one token. */
const charactersPerToken = 4
/** The most that a call can use of anything, and the most it can cost: a million dollars. */
const maxCount = 1e9
const maxNanoUsd = 1e15

/**
 * Makes the row of a call; `undefined` for a call without a valid key and for probes of `/health`.
 * Costs are computed with the present prices of the models.
 */
export function usageRow ({ id: callId, record, receivedAtMs }: Call, models: Pick<ModelRegistry, 'find'>): UsageRow | undefined {
  const { keyId, outcome = 'ok' } = record
  if (keyId === undefined || record.endpoint === 'health') return undefined
  const durationMs = performance.now() - receivedAtMs
  const { usage, estimated } = usageOf(record)
  return {
    id: rowId(),
    call_id: callId,
    at_ms: Math.round(steadyNow() - durationMs),
    key_id: keyId,
    endpoint: record.endpoint,
    requested_model: record.requestedModel ?? null,
    model: record.modelId ?? null,
    provider: record.providerId ?? null,
    outcome,
    status: boundedInteger(record.status),
    error_code: record.errorCode ?? null,
    streamed: Number(record.streamed === true),
    attempts: record.attempts,
    turns: boundedInteger(record.turns),
    prompt_tokens: boundedInteger(usage?.promptTokens),
    completion_tokens: boundedInteger(usage?.completionTokens),
    cached_tokens: boundedInteger(usage?.cachedTokens),
    reasoning_tokens: boundedInteger(usage?.reasoningTokens),
    estimated: Number(estimated),
    pages: boundedInteger(record.pages),
    audio_ms: boundedInteger(record.audioSeconds, 1000),
    characters: boundedInteger(record.spokenCharacters),
    images: boundedInteger(record.images),
    cost_nano_usd: boundedInteger(costOfCall(record, usage, models), 1, maxNanoUsd),
    own_provider_key: Number(record.ownProviderKey === true),
    duration_ms: Math.round(durationMs),
    first_byte_ms: boundedInteger(record.firstByteMs)
  }
}

/**
 * Returns the usage that the provider reported, or an estimate: where the answer broke off or the caller
 * left before the report came, and where the report is impossible.
 */
function usageOf (record: CallRecord): { readonly usage?: Usage, readonly estimated: boolean } {
  const { usage, usageEstimated = false, attempts, outcome, outputCharacters, deferred } = record
  if (usage !== undefined && isPossible(usage)) return { usage, estimated: usageEstimated }
  const begun = outputCharacters !== undefined || (attempts > 0 && outcome !== 'error')
  const promptTokens = begun && deferred !== true ? record.countPrompt?.() : undefined
  if (promptTokens === undefined && outputCharacters === undefined) return { estimated: false }
  const completionTokens = Math.ceil((outputCharacters ?? 0) / charactersPerToken)
  const prompt = promptTokens ?? 0
  return { usage: { promptTokens: prompt, completionTokens, totalTokens: prompt + completionTokens }, estimated: true }
}

/** Returns 0 where no provider was asked, where the caller pays the provider, and for free models. */
function costOfCall (record: CallRecord, usage: Usage | undefined, models: Pick<ModelRegistry, 'find'>): number | undefined {
  const { attempts, ownProviderKey, modelId, outcome, deferred } = record
  if (ownProviderKey === true || deferred === true || attempts === 0) return 0
  const price = modelId === undefined ? undefined : models.find(modelId)?.price
  if (price?.input === 0 && price.output === 0) return 0
  if (usage === undefined) return outcome === 'error' ? 0 : undefined
  return costNanoUsd(usage, price)
}

function isPossible ({ promptTokens, completionTokens }: Usage): boolean {
  return boundedInteger(promptTokens) !== null && boundedInteger(completionTokens) !== null
}

/**
 * Rounds a provider's count, which may be anything; `null` when it is out of range. A single such count
 * would make sums unreadable: the store reads no sum beyond the safe integers.
 */
function boundedInteger (count = NaN, times = 1, max = maxCount): number | null {
  const number = Math.round(count * times)
  return number >= 0 && number <= max ? number : null
}
