/** Collects the events of a turn into the message that the next turn starts with. */

import { objectOf, type JsonObject } from '../json/type-guards.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { addReasoningDetails } from './reasoning-details.ts'
import { hasTurnOrder, TextPhases, TurnOrder } from './turn-order.ts'
import type { AssistantMessage, ToolCall } from '../../schemas/messages.ts'
import type { ChatEvent, ExtraFields, FinishReason, ThinkingBlock } from '../core/events.ts'
import type { Usage } from '../core/usage.ts'

/** A function call of the model. */
export interface TurnToolCall {
  readonly id: string
  readonly name: string
  /** Parsed arguments; `undefined` unless they are a JSON object. */
  readonly arguments: Readonly<Record<string, unknown>> | undefined
  readonly argumentsText: string
  /** Unknown fields that must be sent back with the call, such as thought signatures. */
  readonly extra: ExtraFields
}

/** Collects the first choice of a turn. */
export class Turn {
  readonly #order = new TurnOrder()
  readonly #phases = new TextPhases()
  readonly #texts: string[] = []
  #refusal = ''
  #reasoning = ''
  readonly #blocks: ThinkingBlock[] = []
  readonly #details: JsonObject[] = []
  readonly #calls = new Map<number, { id: string, name: string, text: string, extra: ExtraFields }>()
  #reason: FinishReason | undefined
  #usage: Usage | undefined

  add (event: ChatEvent): void {
    if ('choice' in event && event.choice !== 0) return
    switch (event.type) {
      case 'text-delta':
        this.#addText(event.text, event.phase)
        break
      case 'refusal-delta':
        this.#refusal += event.text
        break
      case 'reasoning-delta':
        this.#reasoning += event.text
        break
      case 'thinking-block':
        this.#order.add('thinking')
        this.#blocks.push(event.block)
        break
      case 'tool-call-start':
        if (event.kind === 'function') {
          this.#order.add('call')
          this.#calls.set(event.callIndex, {
            id: event.id, name: event.name, text: '', extra: event.extra ?? {}
          })
        }
        break
      case 'tool-call-delta': {
        const call = this.#calls.get(event.callIndex)
        if (call !== undefined) call.text += event.text
        break
      }
      case 'extra':
        if (event.scope === 'message') addReasoningDetails(this.#details, event.fields['reasoning_details'])
        break
      case 'choice-end':
        this.#reason = event.reason
        break
      case 'usage':
        this.#usage = event.usage
        break
      case 'answer-start':
      case 'audio-delta':
      case 'tool-call-end':
      case 'annotation-delta':
      case 'direct-frame':
      case 'direct-answer':
      case 'tool-result':
      case 'tools-listed':
      case 'tool-approval-needed':
      case 'tool-servers-failed':
        break
      default:
        event satisfies never
    }
  }

  #addText (text: string, phase: string | undefined): void {
    if (text === '') return
    const continues = this.#order.last === 'text' && (phase ?? null) === this.#phases.last
    const last = continues ? this.#texts.pop() : undefined
    if (!continues) {
      this.#order.add('text')
      this.#phases.add(phase)
    }
    this.#texts.push((last ?? '') + text)
  }

  /** Returns why the model stopped; absent until it has. */
  get reason (): FinishReason | undefined {
    return this.#reason
  }

  get usage (): Usage | undefined {
    return this.#usage
  }

  /** Returns the calls in the model's order. */
  calls (): TurnToolCall[] {
    return [...this.#calls.values()].map(({ id, name, text, extra }) => ({
      id, name, extra, argumentsText: text, arguments: asArguments(text)
    }))
  }

  /** Returns the assistant message, with everything its provider needs back. */
  message (): AssistantMessage {
    const calls = this.calls()
    const order = this.#order.field
    const phases = this.#phases.field
    const texts = hasTurnOrder(order) || phases.text_phases !== undefined
      ? this.#texts.map(text => ({ type: 'text' as const, text }))
      : this.#texts.join('')
    return {
      role: 'assistant',
      content: texts.length === 0 ? null : texts,
      ...order,
      ...phases,
      ...this.#refusal !== '' && { refusal: this.#refusal },
      ...this.#reasoning !== '' && { reasoning_content: this.#reasoning },
      ...this.#blocks.length > 0 && { thinking_blocks: this.#blocks.map(block => ({ ...block })) },
      ...this.#details.length > 0 && { reasoning_details: this.#details },
      ...calls.length > 0 && { tool_calls: calls.map(asToolCall) }
    }
  }
}

/** Drops invalid arguments: providers parse those of earlier calls. */
function asToolCall ({ id, name, arguments: args, argumentsText, extra }: TurnToolCall): ToolCall {
  const text = args === undefined || argumentsText === '' ? '{}' : argumentsText
  return { id, type: 'function', function: { name, arguments: text }, ...extra }
}

/** Models leave the arguments of functions without parameters empty. */
function asArguments (text: string): TurnToolCall['arguments'] {
  if (text.trim() === '') return {}
  try {
    return objectOf(parseBounded(text))
  } catch {
    return undefined // the model gets an error as the result
  }
}
