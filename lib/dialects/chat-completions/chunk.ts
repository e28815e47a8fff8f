/**
 * Maps events to `chat.completion.chunk` objects: the only mapping to this dialect.
 *
 * Streams print these objects and complete answers are folded from them, so both stay consistent.
 */

import type { ChatEvent, FinishReason, Logprobs, ToolResult, ToolServerError } from '../../core/events.ts'
import type { AnswerHead } from '../dialect.ts'
import { costFields, type Usage, type UsageCost } from '../../core/usage.ts'
import { serviceTiers } from '../../../schemas/chat-completion.ts'
import type {
  ChatCompletionChunk, ChoiceLogprobs, ChunkChoice, ChunkDelta, CompletionUsage, ToolServerResult
} from '../../../schemas/chat-completion.ts'

/** Unknown provider fields, passed on in place. */
type Fields = Record<string, unknown>

export type Chunk = ChatCompletionChunk & Fields

/**
 * Converts the events of one answer to chunks. Call `of` for every event in order, then `end`.
 *
 * The first chunk of each choice holds the role and empty content; finish chunks and the usage chunk come
 * from `end`, and the last of them carries what ran on the server (`tools_executed`, `mcp_tool_results`,
 * `mcp_server_errors`).
 */
export class ChunkBuilder {
  /** Has every possible field: overwriting fields of a copy costs a tenth of adding one. */
  readonly #template: Chunk
  readonly #sendsUsage: boolean
  /** Choices whose role was sent. An array, because a set costs 0.15 KB per open stream. */
  readonly #begun: number[] = []
  readonly #finishes: Array<[number, FinishReason]> = []
  readonly #costOf: (() => UsageCost | undefined) | undefined
  #usage: Usage | undefined
  #pending: Fields | undefined
  readonly #toolResults: ToolResult[] = []
  /** By server name. A map, because callers choose the names. */
  #serverErrors: Map<string, ToolServerError> | undefined

  /**
   * @param sendsUsage sends usage in a separate final chunk, and `usage: null` in all others
   * @param costOf returns the cost to show in the usage. Default: none
   */
  constructor (head: AnswerHead, sendsUsage: boolean, costOf?: () => UsageCost | undefined) {
    this.#costOf = costOf
    this.#sendsUsage = sendsUsage
    this.#template = {
      id: head.id,
      object: 'chat.completion.chunk',
      created: head.createdSeconds,
      model: head.model,
      ...traitsOf(head),
      choices: [],
      ...sendsUsage && { usage: null }
    }
  }

  of (event: ChatEvent): Chunk[] {
    switch (event.type) {
      case 'text-delta':
        return this.#choice(event.choice, { content: event.text }, event.logprobs)
      case 'reasoning-delta':
        return this.#choice(event.choice, { reasoning_content: event.text })
      case 'refusal-delta':
        return this.#choice(event.choice, { refusal: event.text }, event.logprobs)
      case 'thinking-block':
        return this.#choice(event.choice, { thinking_blocks: [event.block] })
      case 'audio-delta':
        return this.#choice(event.choice, { audio: event.audio })
      case 'annotation-delta':
        // unchanged from the provider
        return this.#choice(event.choice, { annotations: event.annotations } as ChunkDelta)
      case 'tool-call-start':
        return this.#choice(event.choice, callStart(event))
      case 'tool-call-delta':
        return this.#choice(event.choice, callPiece(event))
      case 'extra':
        return this.#extra(event)
      case 'choice-end':
        this.#finishes.push([event.choice, event.reason])
        return []
      case 'usage':
        this.#usage = event.usage
        return []
      case 'tool-result':
        this.#toolResults.push(event.result)
        return []
      case 'tool-servers-failed':
        this.#serverErrors ??= new Map()
        for (const [name, error] of Object.entries(event.errors)) this.#serverErrors.set(name, error)
        return []
      case 'answer-start':
        Object.assign(this.#template, traitsOf(event)) // of a provider that answered after the start was sent
        return []
      case 'tool-call-end':
      case 'direct-frame':
      case 'direct-answer':
      case 'tools-listed':
      case 'tool-approval-needed':
        return []
      default:
        return event satisfies never
    }
  }

  /** True while fields wait for the next chunk of any kind. */
  get hasPending (): boolean {
    return this.#pending !== undefined
  }

  end (): Chunk[] {
    const chunks: Chunk[] = []
    for (const [choice, reason] of this.#finishes) {
      const started = this.#choice(choice, {})
      const finish = started.at(-1)?.choices[0]
      if (finish !== undefined) finish.finish_reason = reason
      chunks.push(...started)
    }
    const cost = this.#costOf?.()
    const usage = this.#usage ?? cost?.usage
    if (this.#sendsUsage && usage !== undefined) {
      chunks.push({ ...this.#chunk([]), usage: completionUsage(usage, cost) })
    }
    const last = chunks.at(-1)
    if (last === undefined) return chunks
    if (this.#pending !== undefined) Object.assign(last, this.#takePending())
    if (this.#toolResults.length > 0) {
      last['tools_executed'] = [...new Set(this.#toolResults.map(result => result.toolName))]
      last['mcp_tool_results'] = this.#toolResults.map(wireToolResult)
    }
    if (this.#serverErrors !== undefined) last['mcp_server_errors'] = Object.fromEntries(this.#serverErrors)
    return chunks
  }

  /** Returns the ends of choices that a guard refused. */
  refused (): Chunk[] {
    const ended = new Set(this.#finishes.map(([choice]) => choice))
    for (const choice of this.#begun) if (!ended.has(choice)) this.#finishes.push([choice, 'content_filter'])
    return this.end()
  }

  #choice (index: number, delta: ChunkDelta, logprobs: Logprobs | null = null): Chunk[] {
    // The provider's log probabilities are passed on as they are.
    const chunk = this.#chunk([
      { index, delta, logprobs: logprobs as ChoiceLogprobs | null, finish_reason: null }
    ])
    if (this.#begun.includes(index)) return [chunk]
    this.#begun.push(index)
    const first = this.#chunk([
      { index, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }
    ])
    return [first, chunk]
  }

  #chunk (choices: ChunkChoice[]): Chunk {
    const chunk = { ...this.#template, choices }
    return this.#pending === undefined ? chunk : Object.assign(chunk, this.#takePending())
  }

  #extra (event: ChatEvent & { type: 'extra' }): Chunk[] {
    switch (event.scope) {
      case 'message':
        return this.#choice(event.choice, { ...event.fields })
      case 'choice': {
        const chunks = this.#choice(event.choice, {})
        Object.assign(chunks.at(-1)?.choices[0] ?? {}, event.fields)
        return chunks
      }
      case 'answer':
        Object.assign(this.#pending ??= {}, event.fields)
        return event.alone === true ? [this.#chunk([])] : []
    }
  }

  #takePending (): Fields | undefined {
    const pending = this.#pending
    this.#pending = undefined
    return pending
  }
}

/** Returns the members of chunks that describe how the provider answers. */
function traitsOf ({
  serviceTier,
  fingerprint
}: Pick<AnswerHead, 'serviceTier' | 'fingerprint'>): Pick<Chunk, 'service_tier' | 'system_fingerprint'> {
  const tier = serviceTiers.find(tier => tier === serviceTier) // clients only know those of the schema
  return {
    ...tier !== undefined && { service_tier: tier },
    ...fingerprint !== undefined && { system_fingerprint: fingerprint }
  }
}

function callStart (
  { callIndex, id, name, kind, extra }: ChatEvent & { type: 'tool-call-start' }
): ChunkDelta {
  switch (kind) {
    case 'legacy':
      return { function_call: { name, arguments: '' } }
    case 'custom':
      return { tool_calls: [{ index: callIndex, id, type: 'custom', custom: { name, input: '' }, ...extra }] }
    case 'function':
      return {
        tool_calls: [{ index: callIndex, id, type: 'function', function: { name, arguments: '' }, ...extra }]
      }
  }
}

function callPiece ({ callIndex, text, kind }: ChatEvent & { type: 'tool-call-delta' }): ChunkDelta {
  switch (kind) {
    case 'legacy': return { function_call: { arguments: text } }
    case 'custom': return { tool_calls: [{ index: callIndex, custom: { input: text } }] }
    case 'function': return { tool_calls: [{ index: callIndex, function: { arguments: text } }] }
  }
}

export function completionUsage (usage: Usage, cost?: UsageCost): CompletionUsage {
  const promptDetails = reported({
    cached_tokens: usage.cachedTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    audio_tokens: usage.promptAudioTokens
  })
  const completionDetails = reported({
    reasoning_tokens: usage.reasoningTokens,
    audio_tokens: usage.completionAudioTokens,
    accepted_prediction_tokens: usage.acceptedPredictionTokens,
    rejected_prediction_tokens: usage.rejectedPredictionTokens
  })
  const {
    promptTokens: prompt_tokens,
    completionTokens: completion_tokens,
    totalTokens: total_tokens
  } = usage
  const counts: CompletionUsage = { prompt_tokens, completion_tokens, total_tokens }
  if (promptDetails !== undefined) counts.prompt_tokens_details = promptDetails
  if (completionDetails !== undefined) counts.completion_tokens_details = completionDetails
  return cost === undefined ? counts : { ...counts, ...costFields(cost) }
}

/** Returns the counts that a provider reported, if any. */
function reported (counts: Record<string, number | undefined>): Record<string, number> | undefined {
  let known: Record<string, number> | undefined
  for (const name in counts) {
    const count = counts[name]
    if (count !== undefined) (known ??= {})[name] = count
  }
  return known
}

function wireToolResult (result: ToolResult): ToolServerResult {
  return {
    tool_name: result.toolName,
    server_name: result.serverName,
    arguments: { ...result.arguments },
    is_error: result.isError,
    ...result.result !== undefined && { result: result.result },
    ...result.durationMs !== undefined && { duration_ms: result.durationMs }
  }
}
