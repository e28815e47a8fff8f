/**
 * Reads the objects of one answer into events: the chunks of a stream, or a whole answer as if
 * it were one chunk. Both go through here, so they cannot disagree.
 *
 * The finish of a choice is held back until the answer is over, because servers have been seen to
 * send text and tool calls after it. Fields that nobody here knows are passed on where they stood:
 * those of a delta always, because the same piece twice is two pieces; those around it once, as
 * long as they do not change.
 */

import { GatewayError } from '../../core/errors.ts'
import { finishReasonOf } from './finish-reason.ts'
import { ToolCalls } from './tool-calls.ts'
import { usageOf } from './usage.ts'
import { objectOf, textOf } from '../../json/guards.ts'
import type { WireAnswer, WireChoice, WireDelta } from './wire.ts'
import type { ChatEvent, FinishReason, Logprobs, ThinkingBlock } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'

const answerFields = new Set([
  'id', 'object', 'created', 'model', 'choices', 'usage', 'service_tier', 'system_fingerprint',
  'obfuscation', 'error', 'x_groq', 'prompt_filter_results'
])
const choiceFields = new Set([
  'index', 'delta', 'message', 'finish_reason', 'logprobs', 'text', 'content_filter_results',
  'content_filter_offsets', 'stop_reason', 'native_finish_reason', 'token_ids'
])
const deltaFields = new Set([
  'role', 'content', 'refusal', 'reasoning_content', 'reasoning', 'audio', 'annotations',
  'tool_calls', 'function_call', 'token_id', 'thinking_blocks'
])

interface Choice {
  readonly toolCalls: ToolCalls
  finish: FinishReason | undefined
  legacyName: string | undefined
  legacyCall: boolean
}

export class ResponseReader {
  readonly #choices = new Map<number, Choice>()
  readonly #seen = new Map<string, string>()
  #started = false
  #usage: Usage | undefined

  /** True when every choice that began has its finish reason, and at least one began. */
  get complete (): boolean {
    return this.#choices.size > 0 && [...this.#choices.values()].every(choice => choice.finish !== undefined)
  }

  get anyChoice (): boolean {
    return this.#choices.size > 0
  }

  read (answer: WireAnswer, events: ChatEvent[]): void {
    this.#start(answer, events)
    this.#usage = usageOf(answer.usage) ?? usageOf(objectOf(Reflect.get(answer, 'x_groq'))?.['usage']) ?? this.#usage
    if (Array.isArray(answer.choices)) {
      for (const value of answer.choices) this.#readChoice(value, events)
    }
    const extra = this.#unknown(answer, answerFields, 'answer')
    if (extra !== undefined) events.push({ type: 'extra', scope: 'answer', fields: extra })
  }

  /** The finish of every choice, then the usage: the last events of the answer. */
  end (events: ChatEvent[]): void {
    for (const [index, choice] of this.#choices) {
      choice.toolCalls.end(events)
      events.push({ type: 'choice-end', choice: index, reason: finalReason(choice) })
    }
    if (this.#usage !== undefined) events.push({ type: 'usage', usage: this.#usage })
  }

  #start (answer: WireAnswer, events: ChatEvent[]): void {
    // Azure sends a first chunk of empty strings: no head yet.
    if (this.#started || answer.id === '') return
    this.#started = true
    const fingerprint = textOf(answer.system_fingerprint)
    const serviceTier = textOf(answer.service_tier)
    events.push({
      type: 'response-start',
      ...(fingerprint === undefined ? {} : { fingerprint }),
      ...(serviceTier === undefined ? {} : { serviceTier })
    })
  }

  #readChoice (value: unknown, events: ChatEvent[]): void {
    const wire: WireChoice | undefined = objectOf(value)
    if (wire === undefined) return
    const index = typeof wire.index === 'number' ? wire.index : 0
    const choice = this.#choice(index)
    const delta: WireDelta = objectOf(wire.delta) ?? objectOf(wire.message) ?? {}
    const logprobs = logprobsOf(wire.logprobs)

    const reasoning = textOf(delta.reasoning_content) ?? textOf(delta.reasoning)
    if (reasoning !== undefined) events.push({ type: 'reasoning-delta', choice: index, text: reasoning })
    this.#readThinking(index, delta, events)
    const refusal = textOf(delta.refusal)
    const text = this.#readContent(index, delta.content, events)
    const place = refusal !== undefined && text === '' ? 'refusal' : 'text'
    if (text !== '' || (logprobs !== undefined && place === 'text')) {
      events.push({ type: 'text-delta', choice: index, text, ...(logprobs === undefined ? {} : { logprobs }) })
    }
    if (refusal !== undefined) {
      const withLogprobs = place === 'refusal' && logprobs !== undefined
      events.push({ type: 'refusal-delta', choice: index, text: refusal, ...(withLogprobs ? { logprobs } : {}) })
    }
    const audio = objectOf(delta.audio)
    if (audio !== undefined) {
      events.push({ type: 'audio-delta', choice: index, audio })
      // A spoken stream may end with this instead of a finish reason.
      if (audio['expires_at'] !== undefined && wire.delta !== undefined) choice.finish ??= 'stop'
    }
    if (Array.isArray(delta.annotations) && delta.annotations.length > 0) {
      events.push({ type: 'annotation-delta', choice: index, annotations: delta.annotations })
    }
    if (Array.isArray(delta.tool_calls)) {
      for (const call of delta.tool_calls) choice.toolCalls.read(call, events)
    }
    this.#readLegacyCall(index, choice, delta.function_call, events)

    const inMessage = this.#unknown(delta, deltaFields)
    if (inMessage !== undefined) events.push({ type: 'extra', scope: 'message', choice: index, fields: inMessage })
    const inChoice = this.#unknown(wire, choiceFields, `choice ${index}`)
    if (inChoice !== undefined) events.push({ type: 'extra', scope: 'choice', choice: index, fields: inChoice })
    choice.finish ??= finishReasonOf(wire.finish_reason)
  }

  #choice (index: number): Choice {
    let choice = this.#choices.get(index)
    if (choice === undefined) {
      choice = { toolCalls: new ToolCalls(index), finish: undefined, legacyName: undefined, legacyCall: false }
      this.#choices.set(index, choice)
    }
    return choice
  }

  /** Text, or parts of text and thinking as Mistral's models send them. Returns the text. */
  #readContent (choice: number, content: unknown, events: ChatEvent[]): string {
    if (typeof content === 'string') return content
    if (!Array.isArray(content)) return ''
    let text = ''
    for (const value of content) {
      const part = objectOf(value)
      if (part?.['type'] === 'thinking') {
        const thinking = this.#readContent(choice, part['thinking'], events)
        if (thinking !== '') events.push({ type: 'reasoning-delta', choice, text: thinking })
      } else {
        text += textOf(part?.['text']) ?? ''
      }
    }
    return text
  }

  #readThinking (choice: number, delta: WireDelta, events: ChatEvent[]): void {
    const blocks = Reflect.get(delta, 'thinking_blocks')
    if (!Array.isArray(blocks)) return
    for (const block of blocks) {
      // Passed on as they came; whoever takes them back knows their inside.
      if (objectOf(block) !== undefined) events.push({ type: 'thinking-block', choice, block: block as ThinkingBlock })
    }
  }

  #readLegacyCall (index: number, choice: Choice, value: unknown, events: ChatEvent[]): void {
    const call = objectOf(value)
    if (call === undefined) return
    choice.legacyName ??= textOf(call['name'])
    if (choice.legacyName !== undefined && !choice.legacyCall) {
      choice.legacyCall = true
      events.push({ type: 'tool-call-start', choice: index, call: 0, id: '', name: choice.legacyName, kind: 'legacy' })
    }
    const text = textOf(call['arguments'])
    if (text !== undefined) events.push({ type: 'tool-call-delta', choice: index, call: 0, text, kind: 'legacy' })
  }

  /** @param place where values are remembered, so as not to repeat them; absent: all are news */
  #unknown (object: object, known: ReadonlySet<string>, place?: string): Record<string, unknown> | undefined {
    let extra: Record<string, unknown> | undefined
    for (const key in object) {
      if (known.has(key) || key === '__proto__') continue
      const value: unknown = Reflect.get(object, key)
      if (value === null || value === undefined) continue
      if (place !== undefined) {
        const text = JSON.stringify(value)
        const name = `${place} ${key}`
        if (this.#seen.get(name) === text) continue
        this.#seen.set(name, text)
      }
      extra ??= {}
      extra[key] = value
    }
    return extra
  }
}

/** A choice with tool calls ends for them, whatever the server said; a cut one stays cut. */
function finalReason ({ finish, toolCalls, legacyCall }: Choice): FinishReason {
  if (legacyCall && (finish === 'stop' || finish === undefined)) return 'function_call'
  if (toolCalls.any && (finish === 'stop' || finish === undefined || finish === 'function_call')) return 'tool_calls'
  return finish ?? 'stop'
}

function logprobsOf (value: unknown): Logprobs | undefined {
  const logprobs = objectOf(value)
  if (logprobs === undefined) return undefined
  const content = logprobs['content']
  const refusal = logprobs['refusal']
  if (!Array.isArray(content) && !Array.isArray(refusal)) return undefined
  return {
    content: Array.isArray(content) ? content : null,
    refusal: Array.isArray(refusal) ? refusal : null
  }
}

/** @throws GatewayError `upstream_invalid_response` for text that is not a JSON object */
export function parseObject (text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', { cause })
  }
  const object = objectOf(value) ?? (Array.isArray(value) ? objectOf(value[0]) : undefined)
  if (object === undefined) throw new GatewayError('upstream_invalid_response', { cause: typeof value })
  return object
}
