/**
 * Requests that come in the words of this API, and their answers: both travel as they are. What the gateway has to know of an
 * answer (its usage, its tool calls, its end) is read on the side.
 */

import { GatewayError } from '../../core/errors.ts'
import { nonEmptyText, objectOf, objectsOf } from '../../json/guards.ts'
import { endOfString } from '../../json/object-text.ts'
import { ProviderFailure } from '../provider-failure.ts'
import { checkedResponse, readResponse } from './chat-response.ts'
import { readStream, wireEvent } from './chat-stream.ts'
import { failedResponse, saysMissingPath } from './errors.ts'
import { finishReasonOf } from './finish-reason.ts'
import { responseUsage } from './usage.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatInput } from '../../chat/input.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Ask, BodyReader, StreamReader, UpstreamRequest } from '../provider.ts'
import type { WireItem, WireResponse } from './wire.ts'

export function directRequest ({ action, body, headers }: DirectRequest, streamed: boolean): UpstreamRequest {
  return {
    method: 'POST',
    path: action === undefined ? '/responses' : `/responses/${action}`,
    headers: { 'content-type': 'application/json', accept: streamed ? 'text/event-stream' : 'application/json', ...headers },
    body
  }
}

/** Reads an answer for its caller. One in the other form than was requested is read as that of any caller. */
export function directReader (ask: Ask<ChatInput>): BodyReader<ChatEvent> {
  if (ask.streamed) return { as: 'sse', reader: new DirectStream(), json: value => readStreamed(value, ask) }
  return { as: 'json', read: readDirect, sse: () => readStream(ask) }
}

/** Reads one JSON text that came in place of a stream. */
function readStreamed (value: unknown, ask: Ask<ChatInput>): ChatEvent[] {
  refuseOtherApi(objectOf(value))
  return readResponse(value, ask)
}

function readDirect (value: unknown, bytes?: Buffer): ChatEvent[] {
  refuseOtherApi(objectOf(value))
  const response = checkedResponse(value)
  const facts = new AnswerFacts()
  const events: ChatEvent[] = [{ type: 'response-start' }]
  for (const item of objectsOf(response.output)) facts.noteItem(item, events)
  const json = bytes?.toString() ?? JSON.stringify(value)
  events.push({ type: 'direct-answer', json, characters: json.length })
  facts.end(response, events)
  return events
}

/** Proxies have been seen to answer every path with chat completions, and LM Studio answers unknown paths with status 200. */
function refuseOtherApi (answer: Record<string, unknown> | undefined): void {
  if (answer?.['choices'] !== undefined || saysMissingPath(answer?.['error'])) throw new ProviderFailure({ kind: 'missing_api' })
}

/** The facts of an answer that the gateway counts and routes by. */
class AnswerFacts {
  #calls = 0

  /** Later turns go to the provider that made the call. */
  noteItem ({ type, call_id: id, name }: WireItem, into: ChatEvent[]): void {
    if ((type !== 'function_call' && type !== 'custom_tool_call') || typeof id !== 'string' || typeof name !== 'string') return
    into.push({ type: 'tool-call-start', choice: 0, call: this.#calls++, id, name, kind: 'function' })
  }

  end (response: WireResponse, into: ChatEvent[]): void {
    into.push({ type: 'choice-end', choice: 0, reason: finishReasonOf(response, this.#calls === 0 ? 'none' : 'tools') })
    noteUsage(response, into)
  }
}

function noteUsage (response: WireResponse, into: ChatEvent[]): void {
  const usage = responseUsage(response)
  if (usage !== undefined) into.push({ type: 'usage', usage })
}

/** Events in which a caller sees no output yet. */
const heads: ReadonlySet<unknown> = new Set([
  'response.created', 'response.queued', 'response.in_progress', 'response.output_item.added', 'response.content_part.added', 'keepalive'
])

/** Events that are read; all others of this API travel unread. */
const factual: ReadonlySet<string> = new Set([
  'response.created', 'response.output_item.added', 'response.output_item.done',
  'response.completed', 'response.incomplete', 'response.failed', 'response.cancelled'
])

class DirectStream implements StreamReader<ChatEvent> {
  readonly #facts = new AnswerFacts()
  #started = false
  done = false

  read ({ event: name, data }: EventSourceMessage, into: ChatEvent[]): void {
    if (name?.endsWith('.delta') === true) {
      into.push({ type: 'direct-frame', name, json: data, characters: deltaLength(data) })
      return
    }
    if (this.#started && name?.startsWith('response.') === true && !factual.has(name)) {
      into.push(frame(name, data))
      return
    }
    const event = wireEvent(data)
    if (event === undefined) return
    const type = nonEmptyText(event.type) ?? name
    const response: WireResponse = objectOf(event.response) ?? {}
    if (!this.#started) {
      refuseOtherApi(objectOf(event))
      into.push({ type: 'response-start' })
    }
    this.#started = true
    switch (type) {
      case 'response.failed':
      case 'response.cancelled':
        noteUsage(response, into)
        throw failedResponse(response.error)
      case 'error':
        throw failedResponse(objectOf(Reflect.get(event, 'error')) ?? event)
      case 'response.output_item.added':
        this.#facts.noteItem(objectOf(event.item) ?? {}, into)
    }
    into.push(frame(type, data))
    if (type !== 'response.completed' && type !== 'response.incomplete') return
    this.done = true
    this.#facts.end(response, into)
  }

  end (): void {
    throw new GatewayError('upstream_stream_interrupted')
  }
}

/** Returns the length of the text of a delta; 0 where it has none. */
function deltaLength (data: string): number {
  const field = data.indexOf('"delta":"')
  if (field === -1) return 0
  const start = field + '"delta":'.length
  const text = data.slice(start + 1, endOfString(data, start) - 1)
  return text.includes('\\') ? text.replaceAll(/\\(?:u[\da-f]{4}|.)/gi, '.').length : text.length
}

function frame (name: string | undefined, json: string): ChatEvent {
  return { type: 'direct-frame', name, json, ...heads.has(name) && { isHead: true } }
}
