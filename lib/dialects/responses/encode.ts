/** Prints chat events as frames of a streamed response. */

import { DirectPrinter } from './direct-printer.ts'
import { bufferBody } from '../../wire/buffer-body.ts'
import { isPrintedAtOnce, printInSlices } from '../../json/print-in-slices.ts'
import { keptLength, maxKeptLength, tooLong } from './kept-length.ts'
import { itemOptions, OutputItems } from './output-items.ts'
import { failedFields, responseUsage, startedResponse } from './response-object.ts'
import { PingCounter } from './ping-counter.ts'
import {
  endOfStream, keepAliveComment, sseEvent, type FramePrinter, type Frames
} from '../../wire/sse-frames.ts'
import type { ItemListener, TextPlace, WireEvent } from './output/open-item.ts'
import type { AnswerStart } from '../dialect.ts'
import type { KeepResponse, ResponsesContext } from './input.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { ResponseObject } from '../../../schemas/responses.ts'

/** Returns the printer of a streamed response. */
export function encodeResponse (start: AnswerStart<ResponsesContext>): FramePrinter<ChatEvent> {
  return start.context.direct.accounts.has(start.route)
    ? new DirectPrinter(start, () => new Printer(start))
    : new Printer(start)
}

/** Events that repeat earlier content. */
const endings = /\.(?:done|completed|incomplete|failed)$/

/** An event that is printed in slices. */
interface LargeEvent {
  /** The frames before it. */
  readonly before: string
  readonly event: WireEvent
}

class Printer implements FramePrinter<ChatEvent>, ItemListener {
  readonly #call: AnswerStart['call']
  readonly #response: ResponseObject
  readonly #items: OutputItems
  #frames = ''
  #sequence = 0
  readonly #pings = new PingCounter()
  /** What precedes the text of a delta, for the place it was printed for. */
  #textFrame: { readonly place: TextPlace, readonly before: string } | undefined

  readonly #keep: KeepResponse | undefined
  /** The end of a response that must be stored first. */
  #ended: ResponseObject | undefined
  /** Length of what the end of the answer repeats. */
  #kept = 0
  readonly #large: LargeEvent[] = []

  constructor (start: AnswerStart<ResponsesContext>) {
    this.#call = start.call
    this.#keep = start.context.keep
    this.#response = startedResponse(start)
    this.#items = new OutputItems(this, itemOptions(start))
    const isBegun = start.context.queued !== undefined
    if (isBegun) this.#sequence = 2 // after `response.created` and `response.queued`
    else this.event({ type: 'response.created', response: this.#response })
    this.event({ type: 'response.in_progress', response: this.#response })
  }

  event (event: WireEvent): void {
    const numbered = { ...event, sequence_number: this.#sequence++ }
    if (endings.test(event.type) && !isPrintedAtOnce(numbered)) {
      this.#large.push({ before: this.#frames, event: numbered })
      this.#frames = ''
    } else this.#frames += sseEvent(event.type, JSON.stringify(numbered))
  }

  /** Printing a delta between constant halves costs a tenth of printing an object. */
  text (place: TextPlace, delta: string, logprobs: readonly unknown[]): void {
    if (this.#textFrame?.place !== place) this.#textFrame = { place, before: textFrame(place) }
    const shown = logprobs.length === 0 ? '[]' : JSON.stringify(logprobs)
    this.#frames += `${this.#textFrame.before}${JSON.stringify(delta)},"logprobs":${shown},"sequence_number":${this.#sequence++}}\n\n`
  }

  print (events: readonly ChatEvent[]): string {
    this.#pings.end()
    for (const event of events) {
      this.#kept += keptLength(event)
      if (this.#kept > maxKeptLength) throw tooLong()
      this.#items.add(event)
    }
    return this.#taken()
  }

  printLarge (): Promise<Uint8Array> | undefined {
    return this.#large.length === 0 ? undefined : bufferBody(() => this.#pieces())
  }

  end (): string {
    const { status, reason } = this.#items.end()
    return this.#finish({ status, ...reason !== undefined && { incomplete_details: { reason } } })
  }

  /** Sends finished items: clients repeat the entire turn if a stream ends otherwise. */
  fail (failure: GatewayError): string {
    return this.#finish(failedFields(failure))
  }

  keepAlive (): string {
    // A numbered event must not overtake large ones.
    if (!this.#pings.isEventDue() || this.#large.length > 0) return keepAliveComment
    this.event({ type: 'keepalive' })
    return this.#taken()
  }

  #finish (changes: Partial<ResponseObject>): string {
    const cost = this.#call.options?.usageCost?.(this.#call)
    const { usage = cost?.usage, done, toolLoopFields } = this.#items
    const response = finished(
      this.#response,
      { ...changes, output: [...done], ...toolLoopFields },
      usage === undefined ? null : responseUsage(usage, cost)
    )
    if (this.#keep === undefined) return this.#end(response)
    this.#ended = response
    return this.#taken()
  }

  /** Stores the response, and yields the remaining frames. */
  async * last (): AsyncGenerator<Frames, void, undefined> {
    const response = this.#ended
    if (response !== undefined) {
      if (this.#large.length > 0) yield await bufferBody(() => this.#pieces())
      yield this.#end(await this.#keep?.(response) ?? response)
    }
    if (this.#large.length > 0) yield await bufferBody(() => this.#pieces())
  }

  /** Yields large events and the frames around them. */
  async * #pieces (): AsyncGenerator<Uint8Array, void, undefined> {
    while (this.#large[0] !== undefined) {
      const { before, event } = this.#large[0]
      yield Buffer.from(`${before}event: ${event.type}\ndata: `)
      yield * printInSlices(event)
      yield Buffer.from('\n\n')
      this.#large.shift()
    }
    yield Buffer.from(this.#taken())
  }

  #end (response: ResponseObject): string {
    this.event({ type: `response.${response.status}`, response })
    this.#frames += endOfStream
    return this.#taken()
  }

  /** Returns the frames so far; those after a large event wait for it. */
  #taken (): string {
    if (this.#large.length > 0) return ''
    const frames = this.#frames
    this.#frames = ''
    return frames
  }
}

function textFrame (place: TextPlace): string {
  const fields = JSON.stringify({ type: 'response.output_text.delta', ...place })
  return `event: response.output_text.delta\ndata: ${fields.slice(0, -1)},"delta":`
}

function finished (
  response: ResponseObject,
  changes: Partial<ResponseObject>,
  usage: ResponseObject['usage']
): ResponseObject {
  return {
    ...response,
    ...changes,
    usage,
    ...changes.status === 'completed' && { completed_at: Math.floor(Date.now() / 1000) }
  }
}
