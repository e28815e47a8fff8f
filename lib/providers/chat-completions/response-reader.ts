/**
 * Reads the objects of one response into events: stream chunks, or a complete response as if it were one
 * chunk. Sharing this code keeps both consistent.
 *
 * The finish of a choice is held back until the end of the answer, because some servers send text and tool
 * calls after it. Unknown fields are passed on in place: fields of a delta always, because equal deltas may
 * be two pieces; other fields only when they change.
 */

import { callIdsIn } from '../../chat/call-ids.ts'
import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { finishReasonOf, isFullContextReason } from './finish-reason.ts'
import { textDelta, textLogprobs } from './text-choice.ts'
import { ToolCalls, toolCallPieces } from './tool-calls.ts'
import { laterUsage, usageIn } from './usage.ts'
import { numberOf, objectOf, objectsOf, nonEmptyText, property } from '../../json/type-guards.ts'
import { partsOf, Retained } from '../json-api.ts'
import { invalidResponse } from '../provider-failure.ts'
import type { WireAnswer, WireChoice, WireDelta } from './wire.ts'
import type { ChatEvent, FinishReason, Logprobs, ThinkingBlock } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import { serviceTiers } from '../../../schemas/chat-completion.ts'
import type { Usage } from '../../core/usage.ts'

const answerFields = new Set([
  'id', 'object', 'created', 'model', 'choices', 'usage', 'service_tier', 'system_fingerprint',
  'obfuscation', 'error', 'x_groq', 'prompt_filter_results'
])
const choiceFields = new Set([
  'index', 'delta', 'message', 'finish_reason', 'logprobs', 'text', 'content_filter_results',
  'content_filter_offsets', 'stop_reason', 'native_finish_reason', 'token_ids', 'usage'
])
const deltaFields = new Set([
  'role', 'content', 'refusal', 'reasoning_content', 'reasoning', 'audio', 'annotations',
  'tool_calls', 'function_call', 'token_id', 'thinking_blocks', 'usage'
])

const none: ReadonlySet<unknown> = new Set()

/** Request fields that reading the response depends on. */
export type ResponseRequest = Pick<ChatInput, 'n' | 'tools' | 'functions' | 'stop'> &
  Partial<Pick<ChatInput, 'messages'>>

interface Choice {
  /** The server's index. */
  readonly wireIndex: number
  /** Our index: from 0, below the requested number of choices. */
  readonly index: number
  /** Created with the first tool call. */
  toolCalls: ToolCalls | undefined
  /** True after the first text or refusal. */
  hasOutput: boolean
  /** True after the first delta with text. */
  hasText: boolean
  /** True after the first delta with reasoning. */
  hasReasoning: boolean
  /** True after the first `reasoning_details`. */
  hasDetails: boolean
  finish: FinishReason | undefined
  stopSequence: string | undefined
  isContextFull: boolean
  legacyName: string | undefined
  hasBegunLegacyCall: boolean
  /** Thinking that may still receive its signature. */
  thinking: ThinkingBlock & { readonly type: 'thinking' } | undefined
}

export class ResponseReader {
  readonly #retained = new Retained()
  readonly #maxChoices: number
  readonly #offersFunctionsOnly: boolean
  readonly #request: ResponseRequest
  readonly #stops: ReadonlySet<unknown>
  /**
   * In order of arrival. An array, because most responses have one choice and a map costs 0.2 KB per open
   * stream.
   */
  readonly #choices: Choice[] = []
  #seen: Map<string, string> | undefined
  /** Server indexes of choices that were not requested. */
  #spare: Set<number> | undefined
  #hasStarted = false
  /** The latest report. */
  usage: Usage | undefined

  constructor (request: ResponseRequest) {
    this.#request = request
    this.#maxChoices = request.n ?? 1
    this.#offersFunctionsOnly = offersFunctionsOnly(request)
    this.#stops = request.stop === undefined ? none : new Set([request.stop ?? []].flat())
  }

  /** True if at least one choice began and every choice has a finish reason. */
  get isComplete (): boolean {
    return this.#choices.length > 0 && this.#choices.every(({ finish }) => finish !== undefined)
  }

  get hasChoice (): boolean {
    return this.#choices.length > 0
  }

  /** True while a thinking block is open: the next piece may end it. */
  get isThinking (): boolean {
    return this.#choices.some(({ thinking }) => thinking !== undefined)
  }

  read (answer: WireAnswer, events: ChatEvent[]): void {
    this.#start(answer, events)
    this.usage = laterUsage(this.usage, usageIn(answer))
    const choices: readonly WireChoice[] = partsOf(answer.choices, 'the list of choices')
    for (let position = 0; position < choices.length; position++) {
      this.#readChoice(choices[position], position, choices.length === 1, events)
    }
    const extra = this.#unknown(answer, answerFields, 'answer')
    if (extra !== undefined) events.push({ type: 'extra', scope: 'answer', fields: extra })
  }

  /** Records text of the first choice whose event is created elsewhere. */
  noteText (): void {
    const [choice] = this.#choices
    if (choice !== undefined) choice.hasText = choice.hasOutput = true
  }

  /** Appends the last events: the end of every choice, then the usage. */
  end (events: ChatEvent[]): void {
    for (const choice of this.#choices) {
      if (choice.thinking !== undefined) endThinking(choice, events)
      choice.toolCalls?.end(events, isCut(choice))
      const { index, stopSequence, isContextFull } = choice
      events.push({
        type: 'choice-end',
        choice: index,
        reason: finalReason(choice),
        ...stopSequence !== undefined && { stopSequence },
        ...isContextFull && { isContextFull }
      })
    }
    if (this.usage !== undefined) events.push({ type: 'usage', usage: this.usage })
  }

  #start (answer: WireAnswer, events: ChatEvent[]): void {
    // Azure starts with a chunk of empty strings: do not take them for the head.
    if (this.#hasStarted || answer.id === '') return
    this.#hasStarted = true
    const fingerprint = nonEmptyText(answer.system_fingerprint)
    const serviceTier = serviceTiers.find(tier => tier === answer.service_tier)
    events.push({
      type: 'answer-start',
      ...fingerprint !== undefined && { fingerprint },
      ...serviceTier !== undefined && { serviceTier }
    })
  }

  #readChoice (wire: WireChoice | undefined, position: number, isOnly: boolean, events: ChatEvent[]): void {
    if (wire === undefined) return
    const isAnnounced = !isOnly || wire.message !== undefined || property(wire.delta, 'role') !== undefined
    const choice = this.#choice(numberOf(wire.index) ?? position, isAnnounced)
    if (choice === undefined) return
    const delta = deltaOf(wire, choice)
    const { index } = choice
    const inMessage = this.#unknown(delta, deltaFields)
    // Before texts and calls: reasoning that goes back with them may be among the fields.
    if (inMessage !== undefined) {
      const { reasoning_details: details } = inMessage
      if (details !== undefined) {
        choice.hasDetails ||= wire.delta !== undefined && objectsOf(details).length > 0
        this.#retained.add(JSON.stringify(details).length)
      }
      events.push({ type: 'extra', scope: 'message', choice: index, fields: inMessage })
    }
    this.#readTexts(choice, wire, delta, events)
    const audio = objectOf(delta.audio)
    if (audio !== undefined) {
      events.push({ type: 'audio-delta', choice: index, audio })
      // Some audio streams end with this instead of a finish reason.
      if (audio['expires_at'] !== undefined && wire.delta !== undefined) choice.finish ??= 'stop'
    }
    if (Array.isArray(delta.annotations) && delta.annotations.length > 0) {
      events.push({ type: 'annotation-delta', choice: index, annotations: delta.annotations })
    }
    const isWhole = wire.message !== undefined && wire.message !== null
    if (delta.tool_calls !== undefined) {
      for (const call of toolCallPieces(delta.tool_calls)) {
        this.#toolCalls(choice).read(call, events, isWhole)
      }
    }
    if (delta.function_call !== undefined) this.#readLegacyCall(choice, delta.function_call, events)

    const inChoice = this.#unknown(wire, choiceFields, `choice ${index}`)
    if (inChoice !== undefined) {
      events.push({ type: 'extra', scope: 'choice', choice: index, fields: inChoice })
    }
    this.#readFinish(choice, wire)
  }

  /** Reads reasoning, then text or a refusal. Log probabilities are attached to the text, if any. */
  #readTexts (choice: Choice, wire: WireChoice, delta: WireDelta, events: ChatEvent[]): void {
    const { index } = choice
    const logprobs = wire.logprobs === undefined ? undefined : logprobsOf(wire.logprobs)
    const reasoning = nonEmptyText(delta.reasoning_content) ?? nonEmptyText(delta.reasoning)
    if (reasoning !== undefined) events.push({ type: 'reasoning-delta', choice: index, text: reasoning })
    if (reasoning !== undefined && wire.delta !== undefined) choice.hasReasoning = true
    if (delta.thinking_blocks !== undefined) {
      readThinking(choice, wire, delta.thinking_blocks, events, this.#retained)
    }
    const refusal = nonEmptyText(delta.refusal)
    const text = this.#readContent(index, delta.content, events)
    if (choice.thinking !== undefined && (text !== '' || refusal !== undefined || hasCalls(delta))) {
      endThinking(choice, events)
    }
    if (text !== '' || refusal !== undefined) choice.hasOutput = true
    if (text !== '' && wire.delta !== undefined) choice.hasText = true
    const logprobsFor = refusal !== undefined && text === '' ? 'refusal' : 'text'
    if (text !== '' || (logprobs !== undefined && logprobsFor === 'text')) {
      events.push({ type: 'text-delta', choice: index, text, ...logprobs !== undefined && { logprobs } })
    }
    if (refusal !== undefined) {
      const hasLogprobs = logprobsFor === 'refusal' && logprobs !== undefined
      events.push({ type: 'refusal-delta', choice: index, text: refusal, ...hasLogprobs && { logprobs } })
    }
  }

  #readFinish (choice: Choice, wire: WireChoice): void {
    const reason = finishReasonOf(wire.finish_reason)
    // If a server reports `stop` first and truncation or filtering later, the latter wins: the answer must
    // not look complete.
    const cuts = reason === 'length' || reason === 'content_filter'
    if (reason !== undefined && (choice.finish === undefined || cuts)) choice.finish = reason
    if (reason === 'length' && isFullContextReason(wire.finish_reason)) choice.isContextFull = true
    // vLLM and SGLang report the matched stop sequence; numeric values are token ids.
    for (const met of [wire.stop_reason, wire.matched_stop]) {
      if (this.#stops.has(met)) choice.stopSequence = String(met)
    }
  }

  /**
   * Returns the choice with the server's index; `undefined` for choices beyond the requested number. If only
   * one choice was requested and it is still open, pieces under an unannounced index belong to it.
   */
  #choice (wireIndex: number, isAnnounced: boolean): Choice | undefined {
    const existing = this.#choices.find(choice => choice.wireIndex === wireIndex)
    if (existing !== undefined) return existing
    if (this.#choices.length < this.#maxChoices) return this.#addChoice(wireIndex)
    if (isAnnounced && this.#spare?.has(wireIndex) !== true) {
      this.#retained.add(0)
      this.#spare = (this.#spare ?? new Set()).add(wireIndex)
    }
    const [only] = this.#choices
    const goesOn =
      this.#maxChoices === 1 && only?.finish === undefined && this.#spare?.has(wireIndex) !== true
    return goesOn ? only : undefined
  }

  /** Adds a choice under the server's index if requested, else under the first free index. */
  #addChoice (wireIndex: number): Choice {
    const taken = new Set(this.#choices.map(({ index }) => index))
    const isRequested = Number.isInteger(wireIndex) && wireIndex >= 0 && wireIndex < this.#maxChoices
    let index = isRequested && !taken.has(wireIndex) ? wireIndex : 0
    while (taken.has(index)) index++
    const choice: Choice = {
      wireIndex,
      index,
      toolCalls: undefined,
      hasOutput: false,
      hasText: false,
      hasReasoning: false,
      hasDetails: false,
      finish: undefined,
      stopSequence: undefined,
      isContextFull: false,
      legacyName: undefined,
      hasBegunLegacyCall: false,
      thinking: undefined
    }
    this.#choices.push(choice)
    return choice
  }

  /**
   * Returns the text. Content is a string, a list of text and thinking parts (Mistral), or a number for a
   * numeric token.
   */
  #readContent (choice: number, content: unknown, events: ChatEvent[]): string {
    if (typeof content === 'string') return content
    if (typeof content === 'number') return String(content)
    let text = ''
    for (const part of partsOf(content, 'the content')) {
      if (part['type'] === 'thinking') {
        const thinking = this.#readContent(choice, part['thinking'], events)
        if (thinking !== '') events.push({ type: 'reasoning-delta', choice, text: thinking })
      } else {
        text += nonEmptyText(part['text']) ?? ''
      }
    }
    return text
  }

  /** Callers who offered `tools` get a tool call, even if the server answers in the deprecated form. */
  #readLegacyCall (choice: Choice, value: unknown, events: ChatEvent[]): void {
    const call = objectOf(value)
    if (call === undefined) return
    if (!this.#offersFunctionsOnly) {
      this.#toolCalls(choice).read({ index: 0, function: call }, events)
      return
    }
    choice.legacyName ??= nonEmptyText(call['name'])
    if (choice.legacyName !== undefined && !choice.hasBegunLegacyCall) {
      choice.hasBegunLegacyCall = true
      events.push({
        type: 'tool-call-start',
        choice: choice.index,
        callIndex: 0,
        id: '',
        name: choice.legacyName,
        kind: 'legacy'
      })
    }
    const text = nonEmptyText(call['arguments'])
    if (text !== undefined) {
      events.push({ type: 'tool-call-delta', choice: choice.index, callIndex: 0, text, kind: 'legacy' })
    }
  }

  /** Each choice has its own ids: choices are alternatives. */
  #toolCalls (choice: Choice): ToolCalls {
    return choice.toolCalls ??= new ToolCalls(choice.index, callIdsIn(this.#request), this.#retained)
  }

  /** @param scope remembers values to skip repetitions; absent: pass on everything */
  #unknown (object: object, known: ReadonlySet<string>, scope?: string): Record<string, unknown> | undefined {
    let extra: Record<string, unknown> | undefined
    for (const key in object) {
      if (known.has(key) || key === '__proto__') continue
      const value: unknown = Reflect.get(object, key)
      if (value === null || value === undefined) continue
      if (scope !== undefined) {
        const text = JSON.stringify(value)
        const name = `${scope} ${key}`
        if (this.#seen?.get(name) === text) continue
        this.#retained.add(name.length + text.length)
        this.#seen = (this.#seen ?? new Map()).set(name, text)
      }
      extra ??= {}
      extra[key] = value
    }
    return extra
  }
}

/**
 * Reads thinking blocks. Streams send them whole or in pieces, with the signature on the last piece or alone.
 * A signature ends a block; so does the next content.
 */
function readThinking (
  choice: Choice,
  wire: WireChoice,
  blocks: unknown,
  events: ChatEvent[],
  retained: Retained
): void {
  // Pass on unknown fields unchanged: the provider may need them when the block is sent back.
  for (const { thinking, signature, data, ...rest } of objectsOf(blocks)) {
    if (rest['type'] === 'redacted_thinking') {
      endThinking(choice, events)
      if (typeof data === 'string' && data !== '') {
        events.push({
          type: 'thinking-block',
          choice: choice.index,
          block: { ...rest, type: 'redacted_thinking', data }
        })
      }
      continue
    }
    retained.add(nonEmptyText(thinking)?.length ?? 0)
    choice.thinking = {
      ...rest,
      type: 'thinking',
      thinking: `${choice.thinking?.thinking ?? ''}${nonEmptyText(thinking) ?? ''}`,
      ...typeof signature === 'string' && { signature }
    }
    if (nonEmptyText(signature) !== undefined || objectOf(wire.delta) === undefined) {
      endThinking(choice, events)
    }
  }
}

function endThinking (choice: Choice, events: ChatEvent[]): void {
  const { index, thinking: block } = choice
  choice.thinking = undefined
  if (block === undefined || (block.thinking === '' && (block.signature ?? '') === '')) return
  events.push({ type: 'thinking-block', choice: index, block })
}

function hasCalls ({ tool_calls: calls, function_call: call }: WireDelta): boolean {
  return toolCallPieces(calls).length > 0 || objectOf(call) !== undefined
}

/**
 * Returns the new content of a choice. Some servers end a stream with the complete message; parts that were
 * already streamed are skipped.
 */
function deltaOf (wire: WireChoice, choice: Choice): WireDelta {
  const [delta] = partsOf(wire.delta, 'the delta')
  const [whole] = partsOf(wire.message, 'the message')
  if (whole === undefined) return delta ?? textDelta(wire)
  const { hasText, hasReasoning, hasDetails, toolCalls, hasBegunLegacyCall } = choice
  const isNew = !hasText && !hasReasoning && !hasDetails && toolCalls === undefined && !hasBegunLegacyCall
  if (delta === undefined && isNew) return whole
  const {
    content,
    refusal,
    reasoning_content: reasoningContent,
    reasoning,
    thinking_blocks: thinking,
    reasoning_details: details,
    tool_calls: calls,
    function_call: call,
    ...rest
  } = whole
  return {
    ...rest,
    ...!hasText && { content, refusal },
    ...!hasReasoning && { reasoning_content: reasoningContent, reasoning, thinking_blocks: thinking },
    ...!hasDetails && { reasoning_details: details },
    ...toolCalls?.hasCalls !== true && !hasBegunLegacyCall && { tool_calls: calls, function_call: call },
    ...Object.fromEntries(Object.entries(delta ?? {}).filter(([, value]) => value !== null && value !== ''))
  }
}

function isCut ({ finish }: Choice): boolean {
  return finish === 'length' || finish === 'content_filter'
}

/**
 * Returns the final reason: `tool_calls` if there are any, whatever the server said, unless truncated.
 *
 * @throws GatewayError `upstream_invalid_response` if a tool call was announced, but there is neither a call
 *   nor other output
 */
function finalReason ({ finish, toolCalls, hasBegunLegacyCall, hasOutput }: Choice): FinishReason {
  const endsForCalls = finish === 'tool_calls' || finish === 'function_call'
  if (
    (endsForCalls || toolCalls !== undefined) &&
    toolCalls?.hasCalls !== true &&
    !hasBegunLegacyCall &&
    finish !== 'length' &&
    finish !== 'content_filter'
  ) {
    if (!hasOutput) throw invalidResponse('tool calls are announced, and there is none')
    return 'stop'
  }
  if (hasBegunLegacyCall && (finish === 'stop' || finish === undefined)) return 'function_call'
  const mayHaveCalls = finish === 'stop' || finish === undefined || finish === 'function_call'
  if (mayHaveCalls && toolCalls?.hasCalls === true) return 'tool_calls'
  return finish ?? 'stop'
}

function logprobsOf (value: unknown): Logprobs | undefined {
  const logprobs = objectOf(value)
  if (logprobs === undefined) return undefined
  const content = logprobs['content'] ?? textLogprobs(logprobs)
  const refusal = logprobs['refusal']
  if (!Array.isArray(content) && !Array.isArray(refusal)) return undefined
  return {
    content: Array.isArray(content) ? content : null,
    refusal: Array.isArray(refusal) ? refusal : null
  }
}
