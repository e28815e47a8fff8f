/**
 * Prints chat events as stream frames of this dialect: every frame has an event name, and nothing follows the
 * last.
 */

import { sseEvent, sseFrame, type FramePrinter } from '../../wire/sse-frames.ts'
import { DirectFrames } from './direct-frames.ts'
import { errorText } from './errors.ts'
import { StreamEvents } from './stream-events.ts'
import { estimatedUsage } from './usage.ts'
import type { Call } from '../../core/call.ts'
import { isRefused, type GatewayError } from '../../core/errors.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { MessagesStreamEvent } from '../../../schemas/messages-answer.ts'
import type { AnswerStart } from '../dialect.ts'
import type { MessagesContext } from './input.ts'

/** Returns the printer of a streamed message. */
export function encodeMessage (start: AnswerStart<MessagesContext>): FramePrinter<ChatEvent> {
  return start.context.direct.routes.has(start.route) ? new DirectPrinter(start) : new Printer(start)
}

/** Passes through a provider's frames; an answer without any is printed from events. */
class DirectPrinter implements FramePrinter<ChatEvent> {
  readonly #frames: DirectFrames
  readonly #start: AnswerStart<MessagesContext>
  #translated: Printer | undefined

  constructor (start: AnswerStart<MessagesContext>) {
    this.#start = start
    this.#frames = new DirectFrames(start)
  }

  print (events: readonly ChatEvent[]): string {
    // Only the first event shows which of the two it is.
    if (
      this.#translated === undefined &&
      !this.#frames.begun &&
      events.every(({ type }) => type === 'answer-start')
    ) {
      return ''
    }
    if (!this.#frames.begun && !events.some(({ type }) => type === 'direct-frame')) {
      this.#translated ??= new Printer(this.#start)
    }
    return this.#translated?.print(events) ?? this.#frames.print(events)
  }

  end (): string {
    return this.#translated?.end() ?? this.#frames.end()
  }

  fail (failure: GatewayError, call: Call): string {
    return failed(failure, call)
  }

  keepAlive (): string {
    return ping
  }
}

class Printer implements FramePrinter<ChatEvent> {
  readonly #events: StreamEvents
  #hasBegun = false
  /**
   * What precedes the text in a delta of the open block: concatenation costs a tenth of printing an object.
   */
  #before = ''
  #beforeIndex: number | undefined

  constructor (start: AnswerStart<MessagesContext>) {
    this.#events = new StreamEvents(start)
  }

  print (events: readonly ChatEvent[]): string {
    let text = this.#hasBegun ? '' : framesOf(this.#events.begin())
    this.#hasBegun = true
    for (const event of events) {
      const index = this.#events.openText
      if (index !== undefined && event.type === 'text-delta' && event.choice === 0 && event.text !== '') {
        this.#events.addPrinted(event.text)
        text += this.#beforeDelta(index) + JSON.stringify(event.text) + '}}\n\n'
      } else {
        text += framesOf(this.#events.of(event))
      }
    }
    return text
  }

  end (): string {
    return framesOf(this.#events.end())
  }

  fail (failure: GatewayError, call: Call): string {
    return failed(failure, call)
  }

  /** Sends an event: clients measure idle time from the last event, and comments do not count. */
  keepAlive (): string {
    return ping
  }

  #beforeDelta (index: number): string {
    if (index !== this.#beforeIndex) {
      this.#beforeIndex = index
      this.#before = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":`
    }
    return this.#before
  }
}

/** If a guard refused the answer, sends the stop reason before the error. */
function failed (failure: GatewayError, call: Call): string {
  const delta: MessagesStreamEvent = {
    type: 'message_delta',
    delta: { stop_reason: 'refusal', stop_sequence: null },
    usage: estimatedUsage(0, 0)
  }
  return (isRefused(failure) ? framesOf([delta]) : '') + sseFrame('error', errorText(failure, call))
}

const ping = framesOf([{ type: 'ping' }])

/** Returns the frames of events, with their event names. */
export function framesOf (events: readonly MessagesStreamEvent[]): string {
  let text = ''
  for (const event of events) text += sseEvent(event.type, JSON.stringify(event))
  return text
}
