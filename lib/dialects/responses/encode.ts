/** Chat events to the frames of a streamed response. */

import { DirectPrinter } from './direct-printer.ts'
import { failedCode } from './errors.ts'
import { OutputItems } from './output-items.ts'
import { responseUsage, startedResponse } from './response-object.ts'
import { endOfStream, sseEvent } from '../../wire/sse.ts'
import type { ItemListener, TextPlace, WireEvent } from './output/open-item.ts'
import type { AnswerStart } from '../dialect.ts'
import type { KeepResponse, ResponsesContext } from './input.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { FramePrinter } from '../../wire/frame-printer.ts'
import type { ResponseObject } from '../../../schemas/responses.ts'

/** Returns the printer of a streamed response. */
export function encodeResponse (start: AnswerStart<ResponsesContext>): FramePrinter<ChatEvent, string | Uint8Array> {
  return start.context.direct.accounts.has(start.route) ? new DirectPrinter(start, () => new Printer(start)) : new Printer(start)
}

/** Every fourth ping is an event, which agents count as a sign of life; comments are not. */
const pingsPerKeepaliveEvent = 4

class Printer implements FramePrinter<ChatEvent>, ItemListener {
  readonly #response: ResponseObject
  readonly #items: OutputItems
  #frames = ''
  #sequence = 0
  #idleTicks = 0
  /** The text before that of a delta, for the place it was printed for. */
  #textFrame: { readonly place: TextPlace, readonly before: string } | undefined

  readonly #keep: KeepResponse | undefined
  /** The end of a response that is to be stored first. */
  #ended: ResponseObject | undefined
  /** Stores the response, and returns the frames of its end. Absent where nothing is stored: they are those of `end` then. */
  readonly last: (() => Promise<string>) | undefined

  constructor (start: AnswerStart<ResponsesContext>) {
    this.#keep = start.context.keep
    this.last = this.#keep === undefined ? undefined : async () => await this.#stored()
    this.#response = startedResponse(start)
    this.#items = new OutputItems(this, {
      names: start.context.names, approvals: start.context.approvals, listed: start.context.listed, model: start.head.model, logprobs: start.call.request.logprobs === true
    })
    const isBegun = start.context.queued !== undefined
    if (isBegun) this.#sequence = 2 // after `response.created` and `response.queued`
    else this.event({ type: 'response.created', response: this.#response })
    this.event({ type: 'response.in_progress', response: this.#response })
  }

  event (event: WireEvent): void {
    this.#frames += sseEvent(event.type, JSON.stringify({ ...event, sequence_number: this.#sequence++ }))
  }

  /** Printing a delta between constant halves costs a tenth of printing an object. */
  text (place: TextPlace, delta: string, logprobs: readonly unknown[]): void {
    if (this.#textFrame?.place !== place) this.#textFrame = { place, before: textFrame(place) }
    const shown = logprobs.length === 0 ? '[]' : JSON.stringify(logprobs)
    this.#frames += `${this.#textFrame.before}${JSON.stringify(delta)},"logprobs":${shown},"sequence_number":${this.#sequence++}}\n\n`
  }

  print (events: readonly ChatEvent[]): string {
    this.#idleTicks = 0
    for (const event of events) this.#items.add(event)
    return this.#taken()
  }

  end (): string {
    const { status, reason } = this.#items.end()
    return this.#finish({ status, ...reason !== undefined && { incomplete_details: { reason } } })
  }

  /** Sends what is done: clients repeat the entire turn for a stream that ends otherwise. */
  fail (failure: GatewayError): string {
    const error = { code: failedCode(failure), message: failure.message }
    return this.#finish({ status: 'failed', error })
  }

  keepAlive (): string {
    if (this.#idleTicks++ % pingsPerKeepaliveEvent < pingsPerKeepaliveEvent - 1) return ': ping\n'
    this.event({ type: 'keepalive' })
    return this.#taken()
  }

  #finish (changes: Partial<ResponseObject>): string {
    const { usage, done } = this.#items
    const response = finished(this.#response, { ...changes, output: [...done] }, usage === undefined ? null : responseUsage(usage))
    if (this.#keep === undefined) return this.#last(response)
    this.#ended = response
    return this.#taken()
  }

  async #stored (): Promise<string> {
    const response = this.#ended
    if (response === undefined) return '' // its caller has left
    return this.#last(await this.#keep?.(response) ?? response)
  }

  #last (response: ResponseObject): string {
    this.event({ type: `response.${response.status}`, response })
    return this.#taken() + endOfStream
  }

  #taken (): string {
    const frames = this.#frames
    this.#frames = ''
    return frames
  }
}

function textFrame (place: TextPlace): string {
  const fields = JSON.stringify({ type: 'response.output_text.delta', ...place })
  return `event: response.output_text.delta\ndata: ${fields.slice(0, -1)},"delta":`
}

function finished (response: ResponseObject, changes: Partial<ResponseObject>, usage: ResponseObject['usage']): ResponseObject {
  return { ...response, ...changes, usage, ...changes.status === 'completed' && { completed_at: Math.floor(Date.now() / 1000) } }
}
