/**
 * Makes every provider's answer one of ours: the gateway's own id, clock and model name, each
 * choice ended once, usage in the books whether or not the caller asked to see it.
 */

import { completionId } from '../text/ids.ts'
import type { Batch } from '../core/batch.ts'
import type { Call } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import type { ChatEvent, ResponseStart } from '../core/events.ts'
import type { Usage } from '../core/usage.ts'
import type { Stage } from '../core/stage.ts'

/**
 * Batches in, batches out. The first event is exactly one `response-start` with id, model and
 * time; `choice-end` comes once per choice and `usage` at most once, in that order, in the last
 * batch. What was read before an error still goes out before it.
 */
export function normalise<R> (): Stage<Batch<R, ChatEvent>> {
  return async function * (source) {
    let answer: AnswerState | undefined
    let last: Batch<R, ChatEvent> | undefined
    for await (const batch of source) {
      answer ??= new AnswerState(batch.call)
      last = batch
      const events = answer.read(batch.events, batch.route)
      if (events.length > 0) yield events === batch.events ? batch : { ...batch, events }
    }
    if (last !== undefined && answer !== undefined) yield { ...last, events: answer.end() }
  }
}

class AnswerState {
  readonly #call: Call
  readonly #ends = new Map<number, ChatEvent & { type: 'choice-end' }>()
  #started = false
  #usage: Usage | undefined
  #characters = 0

  constructor (call: Call) {
    this.#call = call
  }

  read (events: readonly ChatEvent[], route: Route): readonly ChatEvent[] {
    if (this.#started && this.#onlyText(events)) return events
    const passed: ChatEvent[] = []
    if (!this.#started) {
      this.#started = true
      passed.push(startOf(events[0], route))
    }
    for (const event of events) {
      switch (event.type) {
        case 'response-start':
          break
        case 'choice-end':
          if (!this.#ends.has(event.choice)) this.#ends.set(event.choice, event)
          break
        case 'usage':
          this.#usage = event.usage
          this.#call.record.usage = event.usage
          break
        default:
          this.#count(event)
          passed.push(event)
      }
    }
    return passed
  }

  end (): ChatEvent[] {
    const events: ChatEvent[] = [...this.#ends.values()]
    if (this.#usage !== undefined) events.push({ type: 'usage', usage: this.#usage })
    return events
  }

  /** The common batch of a stream goes through as it is. */
  #onlyText (events: readonly ChatEvent[]): boolean {
    let characters = 0
    for (const event of events) {
      if (event.type !== 'text-delta') return false
      characters += event.text.length
    }
    this.#characters += characters
    this.#estimate()
    return true
  }

  #count (event: ChatEvent): void {
    if (event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'tool-call-delta') {
      this.#characters += event.text.length
      this.#estimate()
    }
  }

  /** Kept up to date as the answer grows: one that is cut short, without usage, is in the books too. */
  #estimate (): void {
    this.#call.record.outputCharacters = this.#characters
  }
}

function startOf (event: ChatEvent | undefined, route: Route): ChatEvent {
  const { fingerprint, serviceTier }: Partial<ResponseStart> = event?.type === 'response-start' ? event : {}
  return {
    type: 'response-start',
    id: completionId(),
    model: route.modelId,
    createdSeconds: Math.floor(Date.now() / 1000),
    ...fingerprint !== undefined && { fingerprint },
    ...serviceTier !== undefined && { serviceTier }
  }
}
