/**
 * Converts the conversation for Gemini: two alternating roles, no empty parts, and after each content with
 * function calls one content with exactly their responses, in order.
 */

import { GatewayError } from '../../core/errors.ts'
import { argumentsOf, functionCallPart } from './tool-calls.ts'
import { partOf, textPart } from './content.ts'
import type { ChatTraits } from './chat-traits.ts'
import type { Content, Part } from './wire.ts'
import type { AssistantMessage, Message } from '../../../schemas/messages.ts'

export interface Conversation {
  readonly contents: readonly Content[]
  readonly systemInstruction?: Content
}

/** Documented placeholder for a lost thought signature. */
const lostSignature = 'skip_thought_signature_validator'

/**
 * @throws GatewayError `invalid_value` for an empty conversation, a tool call without its result or a result
 *   without its call; `unsupported_parameter` for parts the provider does not support
 */
export function wireConversation (messages: readonly Message[], traits: ChatTraits): Conversation {
  const turns = new Turns()
  for (const [index, message] of messages.entries()) turns.read(message, `messages[${index}]`)
  turns.settle()
  const { contents, system } = turns
  if (traits.signatures) fillSignatures(contents)
  if (contents.length === 0 && system.length > 0) {
    // Send instructions alone as the user content, because one is required.
    return { contents: [{ role: 'user', parts: system }] }
  }
  if (contents.length === 0) {
    throw new GatewayError('invalid_value', {
      message: 'The conversation must contain text.',
      param: 'messages'
    })
  }
  if (system.length === 0) return { contents }
  if (traits.systemInstruction) return { contents, systemInstruction: { parts: system } }
  return { contents: withSystemInFront(contents, system) }
}

function withSystemInFront (contents: readonly Content[], system: Part[]): Content[] {
  const [first, ...rest] = contents
  return first?.role === 'user'
    ? [{ role: 'user', parts: [...system, ...first.parts] }, ...rest]
    : [{ role: 'user', parts: system }, ...contents]
}

/** Only the first of parallel calls carries a signature, so only it can lack one. */
function fillSignatures (contents: readonly Content[]): void {
  for (const { parts } of contents) {
    const first = parts.find(part => part.functionCall !== undefined)
    if (first !== undefined) first.thoughtSignature ??= lostSignature
  }
}

/** A call whose response is still missing. */
interface UnansweredToolCall {
  /** Absent for the deprecated `function_call`: its result is found by name. */
  readonly id: string | undefined
  readonly name: string
  /** Location of the call in the request. */
  readonly param: string
  output: string | undefined
}

/** Calls with the same id or name; `next` is the index of the call that gets the next result. */
interface SameCalls { readonly calls: UnansweredToolCall[], next: number }

/** The calls of one turn in order, indexed by id or function name. */
class UnansweredToolCalls {
  readonly list: UnansweredToolCall[] = []
  readonly #byId = new Map<string, SameCalls>()
  readonly #byName = new Map<string, SameCalls>()
  hasResults = false

  add (call: UnansweredToolCall): void {
    this.list.push(call)
    // Deprecated calls have no id: their results are found by name.
    const [map, key] = call.id === undefined ? [this.#byName, call.name] : [this.#byId, call.id]
    const same = map.get(key)
    if (same === undefined) map.set(key, { calls: [call], next: 0 })
    else same.calls.push(call)
  }

  /** Sets the result of the first equal call without one, else replaces the first result. */
  answer (by: { readonly id: string } | { readonly name: string }, output: string): boolean {
    const same = 'id' in by ? this.#byId.get(by.id) : this.#byName.get(by.name)
    const call = same?.calls[same.next] ?? same?.calls[0]
    if (same === undefined || call === undefined) return false
    call.output = output
    same.next++
    this.hasResults = true
    return true
  }
}

class Turns {
  readonly contents: Content[] = []
  readonly system: Part[] = []
  #open = new UnansweredToolCalls()
  /** True after function responses, which stand alone: newer models reject text in the same content. */
  #closed = false

  read (message: Message, param: string): void {
    switch (message.role) {
      case 'system': case 'developer':
        append(this.system, textParts(message.content))
        break
      case 'user':
        this.settle()
        this.#add('user', typeof message.content === 'string'
          ? textPart(message.content)
          : message.content.flatMap((part, index) => partOf(part, `${param}.content[${index}]`)))
        break
      case 'assistant':
        // Calls of adjacent messages form one turn until the first result arrives.
        if (this.#open.hasResults) this.settle()
        this.#readAssistant(message, param)
        break
      case 'tool':
        this.#answer({ id: message.tool_call_id }, contentText(message.content), `${param}.tool_call_id`)
        break
      case 'function':
        this.#answer({ name: message.name }, message.content ?? '', `${param}.name`)
        break
    }
  }

  /** Appends the responses of the calls made so far. */
  settle (): void {
    if (this.#open.list.length === 0) return
    const parts = this.#open.list.map(({ id, name, param, output }): Part => {
      if (output === undefined) {
        throw new GatewayError('invalid_value', {
          message: 'Every tool call of the conversation needs its result right after it.', param
        })
      }
      return { functionResponse: { ...id && { id }, name, response: { output } } }
    })
    this.contents.push({ role: 'user', parts })
    this.#closed = true
    this.#open = new UnansweredToolCalls()
  }

  #readAssistant (message: AssistantMessage, param: string): void {
    const text = textParts(message.content)
    const refusal = text.length === 0 ? textPart(message.refusal ?? '') : []
    const parts = [...text, ...refusal]
    for (const [index, call] of (message.tool_calls ?? []).entries()) {
      const callParam = `${param}.tool_calls[${index}]`
      if (call.type === 'custom') {
        throw new GatewayError('unsupported_parameter', {
          message: 'Only function tools are supported.', param: `${callParam}.type`
        })
      }
      parts.push(functionCallPart(call, `${callParam}.function.arguments`))
      this.#open.add({ id: call.id, name: call.function.name, param: `${callParam}.id`, output: undefined })
    }
    const legacy = message.function_call
    if (legacy !== undefined && legacy !== null) {
      const args = argumentsOf(legacy.arguments, `${param}.function_call.arguments`)
      parts.push({ functionCall: { name: legacy.name, args } })
      this.#open.add({ id: undefined, name: legacy.name, param: `${param}.function_call`, output: undefined })
    }
    this.#add('model', parts)
  }

  #answer (by: { readonly id: string } | { readonly name: string }, output: string, param: string): void {
    if (this.#open.answer(by, output)) return
    throw new GatewayError('invalid_value', {
      message: 'No call in the preceding message has this id or name.',
      param
    })
  }

  #add (role: 'user' | 'model', parts: Part[]): void {
    if (parts.length === 0) return
    const last = this.contents.at(-1)
    if (last?.role === role && !this.#closed) append(last.parts, parts)
    else this.contents.push({ role, parts })
    this.#closed = false
  }
}

/** Avoids a spread into `push`, which overflows the stack for a hundred thousand parts. */
function append (to: Part[], parts: readonly Part[]): void {
  for (const part of parts) to.push(part)
}

function textParts (content: AssistantMessage['content']): Part[] {
  if (typeof content === 'string') return textPart(content)
  return (content ?? []).flatMap(part => textPart(part.type === 'text' ? part.text : part.refusal))
}

function contentText (content: string | ReadonlyArray<{ text: string }>): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('')
}
