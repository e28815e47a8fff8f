/**
 * Requests that come in the words of this API, and their answers: both travel as they are. What the gateway has to know
 * of an answer (its usage, its tool calls, its end) is read on the side.
 */

import { GatewayError } from '../../core/errors.ts'
import { uniqueCallId } from '../../chat/call-ids.ts'
import { nonEmptyText, objectOf } from '../../json/guards.ts'
import { parseBounded } from '../../json/parse-bounded.ts'
import { ProviderFailure, invalidResponse } from '../provider-failure.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { directError, inBandError, readError } from './errors.ts'
import { finishReasonOf } from './finish-reason.ts'
import { UsageCount } from './usage.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatInput } from '../../chat/input.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { ChatEvent, FinishReason } from '../../core/events.ts'
import type { Failure } from '../provider-failure.ts'
import type { Ask, BodyReader, StreamReader, UpstreamFailure, UpstreamRequest } from '../provider.ts'
import type { WireAnswer, WireStreamEvent } from './wire.ts'

const version = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }

/** The characters of a delta around its text: a stream that is cut short is counted by the rest. */
const deltaFrameLength = 80

export function directRequest ({ body, headers, query }: DirectRequest, path: string, streamed: boolean): UpstreamRequest {
  return {
    method: 'POST',
    path: query === '' ? path : `${path}?${query}`,
    headers: { ...version, accept: streamed ? 'text/event-stream' : 'application/json', ...headers },
    body
  }
}

/** Reads an answer for its caller. One in the other form than was requested is read as that of any caller. */
export function directReader (ask: Ask<ChatInput>): BodyReader<ChatEvent> {
  if (ask.streamed) return { as: 'sse', reader: new DirectStream(), json: value => readResponse(value, ask) }
  return { as: 'json', read: readDirect, sse: () => readStream(ask) }
}

/** States what a status other than 2xx means; the words are kept as they came. */
export function directFailure (failure: UpstreamFailure): Failure {
  return directError(readError(failure), failure.status, failure.text)
}

function readDirect (value: unknown, bytes?: Buffer): ChatEvent[] {
  const text = bytes?.toString() ?? JSON.stringify(value)
  const wire: WireAnswer = objectOf(value) ?? {}
  if (wire.type === 'error') throw new ProviderFailure(directError(inBandError(wire), undefined, text))
  if (!Array.isArray(wire.content)) throw invalidResponse('no content')
  const facts = new AnswerFacts()
  const events: ChatEvent[] = [{ type: 'response-start' }]
  facts.usage.read(wire.usage)
  facts.finish(wire.stop_reason)
  const content = wire.content.map(block => facts.noteBlock(block, events))
  const isAsWritten = content.every((block, index) => block === (wire.content as unknown[])[index])
  const json = isAsWritten ? text : JSON.stringify({ ...wire, content })
  events.push({ type: 'direct-answer', json, characters: json.length })
  facts.end(events)
  return events
}

/** The facts of an answer that the gateway counts and routes by. */
class AnswerFacts {
  readonly usage = new UsageCount()
  readonly #ids = new Set<string>()
  #reason: FinishReason | undefined
  #calls = 0

  get finished (): boolean {
    return this.#reason !== undefined
  }

  finish (reason: unknown): void {
    if (nonEmptyText(reason) !== undefined) this.#reason = finishReasonOf(reason)
  }

  /** Later turns go to the provider that made the call. @returns the block, with another id where the answer had that one already */
  noteBlock (block: unknown, into: ChatEvent[]): unknown {
    const { type, id: given, name } = objectOf(block) ?? {}
    if (type !== 'tool_use' || typeof given !== 'string' || typeof name !== 'string') return block
    const id = uniqueCallId(given, this.#ids)
    into.push({ type: 'tool-call-start', choice: 0, call: this.#calls++, id, name, kind: 'function' })
    return id === given ? block : { ...objectOf(block), id }
  }

  end (into: ChatEvent[]): void {
    into.push({ type: 'choice-end', choice: 0, reason: this.#reason ?? 'stop' })
    const usage = this.usage.total()
    if (usage !== undefined) into.push({ type: 'usage', usage })
  }
}

class DirectStream implements StreamReader<ChatEvent> {
  readonly #facts = new AnswerFacts()
  #started = false
  done = false

  read ({ event: name, data }: EventSourceMessage, into: ChatEvent[]): void {
    switch (name) {
      case 'content_block_delta':
        into.push({ type: 'direct-frame', name, json: data, characters: Math.max(0, data.length - deltaFrameLength) })
        return
      case 'ping':
        into.push({ type: 'direct-frame', name, json: data, isHead: true })
        return
      default:
        this.#note(name, data, into)
    }
  }

  end (into: ChatEvent[]): void {
    if (!this.#facts.finished) throw new GatewayError('upstream_stream_interrupted')
    this.#facts.end(into)
  }

  #note (name: string | undefined, data: string, into: ChatEvent[]): void {
    const event: WireStreamEvent | undefined = parsed(data)
    const type = event?.type ?? name
    if (type === 'error') throw new ProviderFailure(directError(inBandError(event ?? {}), undefined, event && data))
    if (event === undefined) throw invalidResponse('no JSON object')
    if (!this.#started) into.push({ type: 'response-start' })
    this.#started = true
    const calls: ChatEvent[] = []
    const block = type === 'content_block_start' ? this.#facts.noteBlock(event.content_block, calls) : undefined
    const json = block === undefined || block === event.content_block ? data : JSON.stringify({ ...event, content_block: block })
    into.push({ type: 'direct-frame', name: name ?? nonEmptyText(type), json, ...type === 'message_start' && { isHead: true } })
    switch (type) {
      case 'message_start':
        this.#facts.usage.read(objectOf(event.message)?.['usage'])
        break
      case 'content_block_start':
        into.push(...calls)
        break
      case 'message_delta':
        this.#facts.usage.read(event.usage)
        this.#facts.finish(objectOf(event.delta)?.['stop_reason'])
        break
      case 'message_stop':
        this.done = true
        this.#facts.end(into)
    }
  }
}

function parsed (data: string): Record<string, unknown> | undefined {
  try {
    return objectOf(parseBounded(data))
  } catch {
    return undefined
  }
}
