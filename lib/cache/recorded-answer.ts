/** Records the events of an answer, and replays them as an answer. */

import type { ChatInput } from '../chat/input.ts'
import type { Batch, RoutedCall } from '../core/call.ts'
import type { ChatEvent } from '../core/events.ts'

/**
 * The form of an answer: `events` can be translated to any dialect; the other forms are passed on unchanged.
 */
type Form = 'events' | 'frames' | 'complete'

/**
 * Version of `Recorded` and its events; increased when they change. Gateways of two versions may share a
 * Redis, and neither can read what the other stored.
 */
export const recordedVersion = 2

interface Recorded {
  /** Unix milliseconds. */
  readonly atMs: number
  readonly providerId: string
  readonly modelId: string
  readonly form: Form
  readonly events: readonly ChatEvent[]
}

/**
 * Reasoning that only its provider can read, or that the provider has signed, at any depth of quoted JSON.
 */
const signed =
  /(?:signature|encrypted_content)\\{0,8}"\s{0,8}:\s{0,8}\\{0,8}"[^"\\]|redacted_thinking\\{0,8}"/

/** Records an answer while it is sent. */
export class AnswerRecorder<R> {
  readonly #maxLength: number
  #events: string[] | undefined = []
  #length = 0
  #form: Form = 'events'
  #first: Batch<R, ChatEvent> | undefined
  #isCapped = false

  /** @param maxLength maximum characters of a cached answer */
  constructor (maxLength: number) {
    this.#maxLength = maxLength
  }

  /**
   * @param call the call that is answered. That of the batch differs if a budget lowered the limit of its
   *   answer (`capAnswer`): an answer that reached that limit is not cached
   */
  add (batch: Batch<R, ChatEvent>, call: RoutedCall<R>): void {
    if (this.#events === undefined) return
    this.#first ??= batch
    this.#isCapped ||= batch.call !== call
    if (batch.route !== this.#first.route) {
      this.#events = undefined
      return
    }
    const before = this.#length
    for (const event of batch.events) {
      const json = this.#takes(event) ? JSON.stringify(event) : undefined
      this.#length += json?.length ?? 0
      if (json === undefined || this.#length > this.#maxLength) {
        this.#events = undefined
        return
      }
      this.#events.push(json)
    }
    try {
      call.takeMemory?.((this.#length - before) * 2)
    } catch {
      this.#events = undefined // the answer continues, but is not cached
    }
  }

  /** True once the answer will not be cached. */
  get hasGivenUp (): boolean {
    return this.#events === undefined
  }

  /** Returns the text of a complete answer that may be reused; otherwise `undefined`. */
  text (): string | undefined {
    if (this.#events === undefined || this.#first === undefined) return undefined
    const { providerId, modelId } = this.#first.route
    const events = `[${this.#events.join(',')}]`
    if (signed.test(events)) return undefined
    const head = JSON.stringify({ atMs: Date.now(), providerId, modelId, form: this.#form })
    return `${head.slice(0, -1)},"events":${events}}`
  }

  #takes (event: ChatEvent): boolean {
    switch (event.type) {
      case 'direct-frame':
        this.#form = 'frames'
        return true
      case 'direct-answer':
        this.#form = 'complete'
        return true
      case 'choice-end':
        return event.reason !== 'content_filter' && !(this.#isCapped && event.reason === 'length')
      case 'tool-result':
      case 'tools-listed':
      case 'tool-approval-needed':
      case 'tool-servers-failed':
        return false
      case 'answer-start':
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
      case 'usage':
        return true
      default:
        return event satisfies never
    }
  }
}

/**
 * Returns a recorded answer as the answer to an equal call, in one batch; `undefined` if it is too old or has
 * another form than the call asks for.
 *
 * @param text created by `AnswerRecorder`
 */
export function replayedAnswer<R extends ChatInput> (
  text: string,
  call: RoutedCall<R>,
  maxAgeMs: number
): Batch<R, ChatEvent> | undefined {
  const { atMs, providerId, modelId, form, events } = JSON.parse(text) as Recorded // printed above
  if (Date.now() - atMs > maxAgeMs) return undefined
  if (form !== 'events' && (form === 'frames') !== (call.request.stream === true)) return undefined
  const route = call.routes.find(one => one.providerId === providerId && one.modelId === modelId)
  if (route === undefined) return undefined
  // The dialect records there that the route answers in the caller's dialect.
  if (form !== 'events' && call.fit?.(call.request, route).direct === undefined) return undefined
  return { call, route, events }
}
