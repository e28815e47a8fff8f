/** Requests in this API's format, and their answers, passed through unchanged. */

import { labelContents } from '../../chat/reasoning-item.ts'
import { nonEmptyText, objectOf, objectsOf } from '../../json/type-guards.ts'
import { endOfString } from '../../json/object-text.ts'
import { DirectReader } from '../direct-reader.ts'
import { objectIn } from '../json-api.ts'
import { ProviderFailure } from '../provider-failure.ts'
import { checkedResponse, readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { failedResponse, isUntypedError, reportsMissingPath } from './errors.ts'
import { labelAccount } from './response-reader.ts'
import { finishReasonOf } from './finish-reason.ts'
import { responseUsage } from './usage.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatInput } from '../../chat/input.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { ChatEvent, FinishReason } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'
import type { AdapterInput, BodyFormat, UpstreamRequest } from '../provider.ts'
import type { WireItem, WireResponse, WireStreamEvent } from './wire.ts'

export function directRequest ({ action, body, headers }: DirectRequest, streamed: boolean): UpstreamRequest {
  return {
    method: 'POST',
    path: action === undefined ? '/responses' : `/responses/${action}`,
    headers: {
      'content-type': 'application/json',
      accept: streamed ? 'text/event-stream' : 'application/json',
      ...headers
    },
    body
  }
}

/**
 * Reads an answer for a caller of this API. If JSON arrives instead of a stream, or the reverse, it is
 * translated.
 */
export function directReader (input: AdapterInput<ChatInput>): BodyFormat<ChatEvent> {
  // Do not label compacted conversations: without their encrypted content they are useless, so any account
  // may try.
  const reader = new ResponseReader(input.direct?.action === undefined ? labelAccount(input) : undefined)
  return input.streamed
    ? { as: 'events', reader, json: value => readInstead(value, input) }
    : { as: 'json', read: (value, bytes) => reader.complete(value, bytes), sse: () => readStream(input) }
}

/** Reads JSON that arrived instead of a stream. */
function readInstead (value: unknown, input: AdapterInput<ChatInput>): ChatEvent[] {
  refuseOtherApi(objectOf(value))
  return readResponse(value, input)
}

/**
 * Some proxies answer every path with chat completions, and LM Studio answers unknown paths with status 200.
 */
function refuseOtherApi (answer: Record<string, unknown> | undefined): void {
  if (answer?.['choices'] !== undefined || reportsMissingPath(answer?.['error'])) {
    throw new ProviderFailure({ kind: 'missing_api' })
  }
}

/** Events without visible output. */
const heads: ReadonlySet<unknown> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.output_item.added',
  'response.content_part.added',
  'keepalive'
])

/** Events that are parsed; all others are passed on unread. */
const factual: ReadonlySet<string> = new Set([
  'response.created', 'response.output_item.added', 'response.output_item.done',
  'response.completed', 'response.incomplete', 'response.failed', 'response.cancelled'
])

class ResponseReader extends DirectReader {
  /** Ids of calls so far: an item is sent when it begins and again when it is done. */
  readonly #ids = new Set<string>()
  readonly #account: string | undefined
  #response: WireResponse | undefined

  /** @param account that labels encrypted content. Default: none, content is unchanged */
  constructor (account: string | undefined) {
    super()
    this.#account = account
  }

  protected get reason (): FinishReason | undefined {
    return this.#response && finishReasonOf(this.#response, this.callsTools ? 'tools' : 'none')
  }

  protected get usage (): Usage | undefined {
    return this.#response && responseUsage(this.#response)
  }

  protected readAnswer (value: unknown, json: string, into: ChatEvent[]): string {
    refuseOtherApi(objectOf(value))
    this.#response = checkedResponse(value)
    for (const item of objectsOf(this.#response.output)) this.#noteItem(item, into)
    return this.#labelled(json)
  }

  protected frameWithoutFacts ({ event: name, data }: EventSourceMessage): ChatEvent | undefined {
    if (name?.endsWith('.delta') === true) {
      return { type: 'direct-frame', name, json: data, characters: deltaLength(data) }
    }
    return this.started && name?.startsWith('response.') === true && !factual.has(name)
      ? frame(name, data)
      : undefined
  }

  protected readMessage ({ event: name, data }: EventSourceMessage, into: ChatEvent[]): void {
    const event: WireStreamEvent = objectIn(data) ?? {}
    const type = nonEmptyText(event.type) ?? name
    const response: WireResponse = objectOf(event.response) ?? {}
    if (!this.started) refuseOtherApi(objectOf(event))
    this.start(into)
    switch (type) {
      case 'response.failed':
      case 'response.cancelled':
        throw failedResponse(response.error, response)
      case 'error':
        throw failedResponse(event.error ?? event)
      case 'response.output_item.added':
      case 'response.output_item.done':
        this.#noteItem(objectOf(event.item) ?? {}, into)
        break
      default:
        if (isUntypedError(event)) throw failedResponse(event.error)
    }
    into.push(frame(type, this.#labelled(data)))
    if (type !== 'response.completed' && type !== 'response.incomplete') return
    this.isDone = true
    this.#response = response
  }

  #labelled (json: string): string {
    return this.#account === undefined ? json : labelContents(json, this.#account)
  }

  #noteItem ({ type, call_id: id, name }: WireItem, into: ChatEvent[]): void {
    const isCall = type === 'function_call' || type === 'custom_tool_call'
    if (!isCall || typeof id !== 'string' || typeof name !== 'string' || this.#ids.has(id)) return
    this.#ids.add(id)
    this.noteCall(id, name, into)
  }
}

/** Returns the length of a delta's text, or 0. */
function deltaLength (data: string): number {
  const field = data.indexOf('"delta":"')
  if (field === -1) return 0
  const start = field + '"delta":'.length
  const text = data.slice(start + 1, endOfString(data, start) - 1)
  return text.includes('\\') ? text.replaceAll(/\\(?:u[\da-f]{4}|.)/gi, '.').length : text.length
}

function frame (name: string | undefined, json: string): ChatEvent {
  return { type: 'direct-frame', name, json, ...heads.has(name) && { isInvisible: true } }
}
