/** Builds the generation config: translated fields, overridden by the caller's own keys. */

import { nearestEffort } from '../../chat/effort.ts'
import { showsThinking } from '../../chat/shows-thinking.ts'
import { generationBounds, withoutEntry } from '../../chat/generation-fields.ts'
import { camelKeys } from './camel-keys.ts'
import { answerSchema } from './schema.ts'
import type { ChatTraits } from './chat-traits.ts'
import type { GenerationConfig, ThinkingConfig, ThinkingLevel } from './wire.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterInput } from '../provider.ts'

type Effort = NonNullable<ChatInput['reasoning_effort']>

/** Thinking budgets by effort, as in the provider's OpenAI-compatible API. */
const budgets: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 1024, low: 1024, medium: 8192, high: 24576, xhigh: 24576, max: 24576
}
const levels: Readonly<Record<Effort, ThinkingLevel>> = {
  none: 'LOW', minimal: 'LOW', low: 'LOW', medium: 'MEDIUM', high: 'HIGH', xhigh: 'HIGH', max: 'HIGH'
}

/**
 * Returns the config in camelCase. Keys of `generation_config` replace translated ones; unknown keys are sent
 * too, because they may be newer than this gateway.
 */
export function generationConfigOf (request: ChatInput, traits: ChatTraits): GenerationConfig {
  return { ...translated(request, traits), ...ownKeys(request.generation_config ?? {}) }
}

/** Maximum choices per request, as in the schema. */
const maxChoices = 128

/** Moves the number of candidates to `n`, so that request and response agree on it. */
export function candidatesAsChoices (input: AdapterInput<ChatInput>): AdapterInput<ChatInput> {
  const { generation_config: config } = input.request
  if (config === undefined) return input
  const { choices } = generationBounds(config)
  // Anything else is sent unchanged, for the provider to reject.
  if (choices === undefined || !Number.isInteger(choices) || choices > maxChoices) return input
  return {
    ...input,
    request: { ...input.request, n: choices, generation_config: withoutEntry(config, 'candidateCount') }
  }
}

function ownKeys (given: Record<string, unknown>): Record<string, unknown> {
  // null means the same as an absent key.
  return camelKeys(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)))
}

function translated (request: ChatInput, traits: ChatTraits): GenerationConfig {
  const { n, top_k: topK, seed } = request
  const config: GenerationConfig = formatOf(request)
  const maxOutputTokens = request.max_completion_tokens ?? request.max_tokens
  if (maxOutputTokens !== undefined) config.maxOutputTokens = maxOutputTokens
  if (request.temperature !== undefined) config.temperature = request.temperature
  if (request.top_p !== undefined) config.topP = request.top_p
  if (topK !== undefined && topK > 0) config.topK = topK // 0 means no limit, which has no counterpart
  const stop = [request.stop ?? []].flat().filter(sequence => sequence !== '')
  if (stop.length > 0) config.stopSequences = stop
  if (n !== undefined && n > 1) config.candidateCount = n
  // Seeds have 32 bits there; truncation is deterministic.
  if (seed !== undefined) config.seed = seed | 0
  if (traits.penalties) {
    if (request.presence_penalty !== undefined) config.presencePenalty = request.presence_penalty
    if (request.frequency_penalty !== undefined) config.frequencyPenalty = request.frequency_penalty
  }
  if (request.logprobs === true) {
    config.responseLogprobs = true
    if (request.top_logprobs !== undefined && request.top_logprobs > 0) config.logprobs = request.top_logprobs
  }
  const thinking = budgetOf(request, traits) ?? thinkingOf(request, traits)
  if (thinking !== undefined) config.thinkingConfig = thinking
  return config
}

/** Returns the fields that set the format of the answer; none for text. */
function formatOf (
  { response_format: format }: ChatInput
): Pick<GenerationConfig, 'responseMimeType' | 'responseJsonSchema'> {
  if (format === undefined || format.type === 'text') return {}
  const schema = format.type === 'json_schema' ? format.json_schema.schema : undefined
  return {
    responseMimeType: 'application/json',
    ...schema != null && { responseJsonSchema: answerSchema(schema, 'response_format.json_schema.schema') }
  }
}

/** Returns the caller's token budget for models with budgets; it is not converted to a level. */
function budgetOf (
  { thinking: given }: ChatInput,
  { thinking, minBudget, maxBudget }: ChatTraits
): ThinkingConfig | undefined {
  if (given?.type !== 'enabled' || thinking !== 'budget') return undefined
  return {
    includeThoughts: given.display !== 'omitted',
    thinkingBudget: Math.min(Math.max(given.budget_tokens, minBudget), maxBudget)
  }
}

function thinkingOf (
  request: ChatInput,
  { thinking, thinkingOff, efforts }: ChatTraits
): ThinkingConfig | undefined {
  if (thinking === 'none') return undefined
  const { reasoning_effort: effort } = request
  if (effort === undefined) return showsThinking(request) ? { includeThoughts: true } : undefined
  const includeThoughts = effort !== 'none'
  if (thinking === 'level') {
    return { includeThoughts, thinkingLevel: levels[nearestEffort(effort, efforts) ?? effort] }
  }
  if (effort !== 'none') return { includeThoughts, thinkingBudget: budgets[effort] }
  return thinkingOff ? { includeThoughts, thinkingBudget: 0 } : undefined
}
