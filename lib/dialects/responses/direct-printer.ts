/**
 * Passes through the events of a provider of this dialect. Only events that contain the response change.
 * Sequence numbers are made continuous, and an interrupted stream gets the end that clients wait for.
 */

import { readObjectText, replaceFields } from '../../json/object-text.ts'
import {
  endOfStream, keepAliveComment, sseFrame, type FramePrinter, type Frames
} from '../../wire/sse-frames.ts'
import { shownResponse, storedResponse } from './direct-answer.ts'
import { failedFields, startedResponse } from './response-object.ts'
import { maxKeptLength, tooLong } from './kept-length.ts'
import { PingCounter } from './ping-counter.ts'
import { completeEvent } from './text-parts.ts'
import type { GatewayError } from '../../core/errors.ts'
import type { Call } from '../../core/call.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { AnswerStart } from '../dialect.ts'
import type { ResponsesContext } from './input.ts'

/** An event split around the response it contains. */
interface ResponseEvent {
  readonly name: string | undefined
  readonly before: string
  readonly response: string
  readonly after: string
}

type Frame = Pick<ChatEvent & { type: 'direct-frame' }, 'name' | 'json'>

/** Events that were already sent when a background response was queued. */
const queuedEvents: ReadonlySet<string | undefined> = new Set(['response.created', 'response.queued'])

export class DirectPrinter implements FramePrinter<ChatEvent> {
  readonly #start: AnswerStart<ResponsesContext>
  readonly #translate: () => FramePrinter<ChatEvent>
  /** Set if the answer has no events of this dialect. */
  #translated: FramePrinter<ChatEvent> | undefined
  #hasBegun = false
  #sequence: number
  readonly #pings = new PingCounter()
  /** The response at the start of the stream. */
  #response: string | undefined
  /** The same as the caller gets it. */
  #shown = ''
  /** Events with finished items. */
  readonly #done: string[] = []
  #doneLength = 0
  #last: ResponseEvent | undefined
  readonly last = (): AsyncIterable<Frames> | undefined => {
    if (this.#translated !== undefined) return this.#translated.last?.()
    // Without an end, the caller has left or everything was sent.
    return this.#last === undefined || this.#start.context.keep === undefined
      ? undefined
      : this.#stored(this.#last)
  }

  constructor (start: AnswerStart<ResponsesContext>, translate: () => FramePrinter<ChatEvent>) {
    this.#start = start
    this.#translate = translate
    this.#sequence = start.context.queued === undefined ? 0 : queuedEvents.size
  }

  print (events: readonly ChatEvent[]): string {
    // Only the first event shows which of the two it is.
    if (this.#translated === undefined && !this.#hasBegun) {
      if (events.every(({ type }) => type === 'answer-start')) return ''
      if (events.some(({ type }) => type === 'direct-frame')) this.#hasBegun = true
      else this.#translated = this.#translate()
    }
    if (this.#translated !== undefined) return this.#translated.print(events)
    this.#pings.end()
    let text = ''
    for (const event of events) if (event.type === 'direct-frame') text += this.#frame(event)
    return text
  }

  printLarge (): Promise<Uint8Array> | undefined {
    return this.#translated?.printLarge?.()
  }

  end (): string {
    if (this.#translated !== undefined) return this.#translated.end()
    return this.#start.context.keep === undefined
      ? this.#ending(response => shownResponse(this.#start, response))
      : ''
  }

  /** Sends finished items: clients repeat the entire turn if a stream ends otherwise. */
  fail (failure: GatewayError, call: Call): string {
    if (!this.#hasBegun) this.#translated ??= this.#translate()
    if (this.#translated !== undefined) return this.#translated.fail?.(failure, call) ?? ''
    // unchanged from the provider
    const begun =
      this.#response === undefined ? startedResponse(this.#start) : (JSON.parse(this.#response) as object)
    const response = { ...begun, ...failedFields(failure), output: this.#done.map(itemOf) }
    this.#last = {
      name: 'response.failed',
      before: '{"type":"response.failed","response":',
      response: JSON.stringify(response),
      after: '}'
    }
    return this.end()
  }

  keepAlive (): string {
    if (this.#translated?.keepAlive !== undefined) return this.#translated.keepAlive()
    if (!this.#hasBegun || !this.#pings.isEventDue()) return keepAliveComment
    return sseFrame('keepalive', `{"type":"keepalive","sequence_number":${this.#sequence++}}`)
  }

  #frame ({ name, json: given }: Frame): string {
    const json = completeEvent(name, given)
    switch (name) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress': {
        const event = split(name, json)
        if (event.response !== this.#response) {
          this.#response = event.response
          this.#shown = shownResponse(this.#start, event.response)
        }
        if (this.#start.context.queued !== undefined && queuedEvents.has(name)) return ''
        return this.#printed(event, this.#shown)
      }
      case 'response.completed':
      case 'response.incomplete':
        this.#last = this.#repaired(split(name, json))
        return ''
      case 'response.output_item.done':
        this.#doneLength += json.length
        if (this.#doneLength > maxKeptLength) throw tooLong()
        this.#done.push(json)
    }
    return sseFrame(name, this.#numbered(json))
  }

  /** Restores what some servers streamed but omit from the final response. */
  #repaired (event: ResponseEvent): ResponseEvent {
    const outline = readObjectText(event.response)
    const output = outline?.fields.get('output')
    const isEmpty = output === undefined || /^\[\s*\]$/.test(event.response.slice(output.start, output.end))
    if (outline === undefined || !isEmpty || this.#done.length === 0) return event
    return {
      ...event,
      response: replaceFields(
        event.response,
        outline,
        new Map([['output', JSON.stringify(this.#done.map(itemOf))]])
      )
    }
  }

  #ending (shown: (response: string) => string): string {
    return this.#last === undefined ? '' : this.#printed(this.#last, shown(this.#last.response)) + endOfStream
  }

  async * #stored ({ response: text }: ResponseEvent): AsyncGenerator<string, void, undefined> {
    const response = await storedResponse(this.#start, text)
    yield this.#ending(() => response)
  }

  #printed ({ name, before, after }: ResponseEvent, response: string): string {
    return sseFrame(name, this.#numbered(before + response + after))
  }

  #numbered (json: string): string {
    const number = this.#sequence++
    const field = `"sequence_number":${number}`
    // some servers write the field last
    if (json.endsWith('}') && json.startsWith(field, json.length - 1 - field.length)) return json
    const at = json.indexOf(field)
    const next = at === -1 ? '' : json[at + field.length]
    if (next === ',' || next === '}') return json
    const outline = readObjectText(json)
    return outline === undefined
      ? json
      : replaceFields(json, outline, new Map([['sequence_number', String(number)]]))
  }
}

function split (name: string, json: string): ResponseEvent {
  const range = readObjectText(json)?.fields.get('response')
  if (range === undefined) {
    return { name, before: json.replace(/\}\s*$/, ',"response":'), response: '{}', after: '}' }
  }
  return {
    name,
    before: json.slice(0, range.start),
    response: json.slice(range.start, range.end),
    after: json.slice(range.end)
  }
}

function itemOf (event: string): unknown {
  return (JSON.parse(event) as { item?: unknown }).item // parsed before, on arrival
}
