/**
 * Gives every provider's answer the same form: the gateway's id, clock and model name, each choice ended
 * once, usage last.
 */

import { transform, type Stage } from '../pipeline/stage.ts'
import type { Transformer } from '../pipeline/fused-stages.ts'
import { completionId } from '../text/ids.ts'
import type { ChatInput } from '../chat/input.ts'
import type { ChatBatch } from '../dialects/dialect.ts'
import type { ChatEvent, AnswerStartEvent } from '../core/events.ts'
import type { Route } from '../core/route.ts'
import { nowSeconds } from '../core/reply.ts'

export interface NormaliseOptions {
  /** Estimates the tokens of a request, reported in `answer-start`. Default: no estimate. */
  readonly estimate?: ((request: ChatInput) => { readonly prompt: { readonly typical: number } }) | undefined
}

/**
 * Normalises batches. The first event is exactly one `answer-start` with id, model and time. `choice-end`
 * comes once per choice and `usage` at most once, in that order, in the last batch. Other events read before
 * an error go out before the error.
 */
export function normalise (options: NormaliseOptions = {}): Stage<ChatBatch> {
  return transform(() => new Normaliser(options))
}

class Normaliser implements Transformer<ChatBatch, ChatBatch> {
  /** By index of the choice; set with the first one. */
  #ends: Map<number, ChatEvent & { type: 'choice-end' }> | undefined
  #usage: (ChatEvent & { type: 'usage' }) | undefined
  /** True until there is an event: the provider's start may follow an empty first batch. */
  #awaitsStart = true
  /** Kept without its events: a waiting stream would otherwise retain the text of its last read. */
  #last: Pick<ChatBatch, 'call' | 'route'> | undefined
  readonly #estimate: NormaliseOptions['estimate']

  constructor ({ estimate }: NormaliseOptions) {
    this.#estimate = estimate
  }

  push (batch: ChatBatch): ChatBatch | undefined {
    const isFirst = this.#last === undefined
    const { call, route } = batch
    const isLateStart = this.#awaitsStart && !isFirst
    this.#awaitsStart &&= batch.events.length === 0
    if (this.#last?.call !== call || this.#last.route !== route) this.#last = { call, route }
    if (!isFirst && batch.events.length > 0 && passesUnchanged(batch.events)) return batch
    const events = this.#read(batch.events, isLateStart)
    if (isFirst) {
      // A direct answer begins with the provider's own count.
      const promptTokens =
        this.#estimate === undefined || events.some(isDirectAnswer)
          ? undefined
          : this.#estimate(batch.call.request).prompt.typical
      events.unshift(startOf(batch.events[0], batch.route, promptTokens))
    }
    return events.length === 0 ? undefined : { call, route, events }
  }

  end (): ChatBatch | undefined {
    if (this.#last === undefined) return undefined
    const { call, route } = this.#last
    const events: ChatEvent[] = [...this.#ends?.values() ?? []]
    if (this.#usage !== undefined) events.push(this.#usage)
    return { call, route, events }
  }

  #read (events: readonly ChatEvent[], isLateStart: boolean): ChatEvent[] {
    const passed: ChatEvent[] = []
    for (const event of events) {
      switch (event.type) {
        case 'answer-start':
          // The start that was sent has the id and the time.
          if (isLateStart) passed.push({ type: 'answer-start', ...traitsOf(event) })
          break
        case 'choice-end':
          this.#ends ??= new Map()
          if (!this.#ends.has(event.choice)) this.#ends.set(event.choice, event)
          break
        case 'usage':
          this.#usage = event
          break
        case 'text-delta':
        case 'reasoning-delta':
        case 'refusal-delta':
        case 'thinking-block':
        case 'audio-delta':
        case 'tool-call-start':
        case 'tool-call-delta':
        case 'tool-call-end':
        case 'annotation-delta':
        case 'extra':
        case 'direct-frame':
        case 'direct-answer':
        case 'tool-result':
        case 'tools-listed':
        case 'tool-approval-needed':
        case 'tool-servers-failed':
          passed.push(event)
          break
        default:
          event satisfies never
      }
    }
    return passed
  }
}

function isDirectAnswer ({ type }: ChatEvent): boolean {
  return type === 'direct-answer' || type === 'direct-frame'
}

/** Returns true for batches of text or direct frames only, as most of a stream are. */
function passesUnchanged (events: readonly ChatEvent[]): boolean {
  for (const event of events) {
    if (event.type !== 'text-delta' && event.type !== 'direct-frame') return false
  }
  return true
}

function startOf (event: ChatEvent | undefined, route: Route, promptTokens: number | undefined): ChatEvent {
  return {
    type: 'answer-start',
    id: completionId(),
    model: route.modelId,
    createdSeconds: nowSeconds(),
    ...event?.type === 'answer-start' && traitsOf(event),
    ...promptTokens !== undefined && { promptTokens }
  }
}

/** Returns the members of a provider's start that callers get. */
function traitsOf ({
  fingerprint,
  serviceTier
}: AnswerStartEvent): Pick<AnswerStartEvent, 'fingerprint' | 'serviceTier'> {
  return { ...fingerprint !== undefined && { fingerprint }, ...serviceTier !== undefined && { serviceTier } }
}
