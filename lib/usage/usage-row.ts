/** A call that has ended, as a row of the ledger. */

import { rowId } from '../text/ids.ts'
import { costOf } from './cost.ts'
import type { Call } from '../core/call.ts'
import type { CallRecord } from '../core/record.ts'
import type { Usage } from '../core/usage.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { UsageRow } from '../stores/database.ts'

/** Characters of a text that are about one token. */
const charactersPerToken = 4
/** Nothing that a call uses is more than this, nor costs more than a million dollars. */
const mostOfAnything = 1e9
const mostNanoUsd = 1e15

/**
 * The row of a call; `undefined` for a call that never showed a good key, and for probes of `/health`. Costs are those of the
 * models' prices now.
 */
export function usageRow ({ id: callId, record, receivedAtMs }: Call, models: Pick<ModelRegistry, 'find'>): UsageRow | undefined {
  const { keyId, outcome = 'ok' } = record
  if (keyId === undefined || record.endpoint === 'health') return undefined
  const durationMs = performance.now() - receivedAtMs
  const { usage, estimated } = usageOf(record)
  return {
    id: rowId(),
    call_id: callId,
    at_ms: Math.round(Date.now() - durationMs),
    key_id: keyId,
    endpoint: record.endpoint,
    requested_model: record.requestedModel ?? null,
    model: record.modelId ?? null,
    provider: record.providerId ?? null,
    outcome,
    status: whole(record.status),
    error_code: record.errorCode ?? null,
    streamed: Number(record.streamed === true),
    attempts: record.attempts,
    turns: whole(record.turns),
    prompt_tokens: whole(usage?.promptTokens),
    completion_tokens: whole(usage?.completionTokens),
    cached_tokens: whole(usage?.cachedTokens),
    reasoning_tokens: whole(usage?.reasoningTokens),
    estimated: Number(estimated),
    pages: whole(record.pages),
    audio_ms: whole(record.audioSeconds, 1000),
    characters: whole(record.spokenCharacters),
    images: whole(record.images),
    cost_nano_usd: whole(costOfCall(record, usage, models), 1, mostNanoUsd),
    own_provider_key: Number(record.ownProviderKey === true),
    duration_ms: Math.round(durationMs),
    first_byte_ms: whole(record.firstByteMs)
  }
}

/**
 * What was reported, or a guess: where a provider was asked and did not get to report, as the answer
 * broke off or the caller left, and where it reported what cannot be.
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

/** Nothing for whom nothing was done, for whom somebody else is billed, and for what is free however much it is. */
function costOfCall (record: CallRecord, usage: Usage | undefined, models: Pick<ModelRegistry, 'find'>): number | undefined {
  const { attempts, ownProviderKey, modelId, outcome, deferred } = record
  if (ownProviderKey === true || deferred === true || attempts === 0) return 0
  const price = modelId === undefined ? undefined : models.find(modelId)?.price
  if (price?.input === 0 && price.output === 0) return 0
  if (usage === undefined) return outcome === 'error' ? 0 : undefined
  return costOf(usage, price)
}

function isPossible ({ promptTokens, completionTokens }: Usage): boolean {
  return whole(promptTokens) !== null && whole(completionTokens) !== null
}

/**
 * A provider's count may be anything, and a single one that is out of range would do harm to all
 * others: a sum that is no safe integer cannot be read from the store.
 */
function whole (count = NaN, times = 1, most = mostOfAnything): number | null {
  const number = Math.round(count * times)
  return number >= 0 && number <= most ? number : null
}
