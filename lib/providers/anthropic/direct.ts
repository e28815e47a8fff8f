/** Requests in this API's format, and their answers, passed through unchanged. */

import { uniqueCallId } from '../../chat/call-ids.ts'
import { nonEmptyText, objectOf } from '../../json/type-guards.ts'
import { DirectReader } from '../direct-reader.ts'
import { objectIn, objectOrNothing } from '../json-api.ts'
import { ProviderFailure, invalidResponse } from '../provider-failure.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { directError, errorIn, inBandError, readError } from './errors.ts'
import { finishReasonOf } from './finish-reason.ts'
import { UsageCount } from './usage.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatInput } from '../../chat/input.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { ChatEvent, FinishReason } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'
import type { Failure } from '../provider-failure.ts'
import type { AdapterInput, BodyFormat, UpstreamFailure, UpstreamRequest } from '../provider.ts'
import type { WireAnswer, WireStreamEvent } from './wire.ts'

const version = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }

/** Characters of a delta besides its text, to estimate the text of an interrupted stream. */
const deltaFrameLength = 80

export function directRequest (
  { body, headers, query }: DirectRequest,
  path: string,
  streamed: boolean
): UpstreamRequest {
  return {
    method: 'POST',
    path: query === '' ? path : `${path}?${query}`,
    headers: { ...version, accept: streamed ? 'text/event-stream' : 'application/json', ...headers },
    body
  }
}

/**
 * Reads an answer for a caller of this API. If JSON arrives instead of a stream, or the reverse, it is
 * translated.
 */
export function directReader (input: AdapterInput<ChatInput>): BodyFormat<ChatEvent> {
  const reader = new MessageReader()
  return input.streamed
    ? { as: 'events', reader, json: value => readResponse(value, input) }
    : { as: 'json', read: (value, bytes) => reader.complete(value, bytes), sse: () => readStream(input) }
}

/** Interprets a non-2xx response; the message stays verbatim. */
export function directFailure (failure: UpstreamFailure): Failure {
  return directError(readError(failure), failure.status, failure.text)
}

class MessageReader extends DirectReader {
  readonly #usage = new UsageCount()
  readonly #ids = new Set<string>()
  #reason: FinishReason | undefined

  protected get reason (): FinishReason | undefined {
    return this.#reason
  }

  protected get usage (): Usage | undefined {
    return this.#usage.total()
  }

  override usageSoFar (): Usage | undefined {
    return this.#usage.soFar()
  }

  protected readAnswer (value: unknown, json: string, into: ChatEvent[]): string {
    const wire: WireAnswer = objectOf(value) ?? {}
    const failure = errorIn(wire)
    if (failure !== undefined) throw new ProviderFailure(directError(failure, undefined, json))
    this.#usage.read(wire.usage)
    if (!Array.isArray(wire.content)) throw invalidResponse('no content')
    this.#noteReason(wire.stop_reason)
    const blocks: readonly unknown[] = wire.content
    const content = blocks.map(block => this.#noteBlock(block, into))
    return content.every((block, index) => block === blocks[index])
      ? json
      : JSON.stringify({ ...wire, content })
  }

  protected frameWithoutFacts ({ event: name, data }: EventSourceMessage): ChatEvent | undefined {
    switch (name) {
      case 'content_block_delta':
        return {
          type: 'direct-frame',
          name,
          json: data,
          characters: Math.max(0, data.length - deltaFrameLength)
        }
      case 'ping':
        return { type: 'direct-frame', name, json: data, isInvisible: true }
      default:
        return undefined
    }
  }

  protected readMessage ({ event: name, data }: EventSourceMessage, into: ChatEvent[]): void {
    const event: WireStreamEvent | undefined = name === 'error' ? objectOrNothing(data) : objectIn(data)
    const type = nonEmptyText(event?.type) ?? name
    const failure = event === undefined || type === 'error' ? inBandError(event ?? {}) : errorIn(event)
    if (event === undefined || failure !== undefined) {
      throw new ProviderFailure(directError(failure ?? inBandError({}), undefined, event && data))
    }
    this.start(into)
    const calls: ChatEvent[] = []
    const block = type === 'content_block_start' ? this.#noteBlock(event.content_block, calls) : undefined
    const json =
      block === undefined || block === event.content_block
        ? data
        : JSON.stringify({ ...event, content_block: block })
    into.push({
      type: 'direct-frame',
      name: name ?? nonEmptyText(type),
      json,
      ...(type === 'message_start' || isEmptyText(block)) && { isInvisible: true }
    })
    into.push(...calls)
    switch (type) {
      case 'message_start':
        this.#usage.readFirst(objectOf(event.message)?.['usage'])
        break
      case 'message_delta':
        this.#usage.read(event.usage)
        this.#noteReason(objectOf(event.delta)?.['stop_reason'])
        break
      case 'message_stop':
        this.isDone = true
    }
  }

  #noteReason (reason: unknown): void {
    if (nonEmptyText(reason) !== undefined) this.#reason = finishReasonOf(reason)
  }

  /** @returns the block, with a new id if the answer has used its id before */
  #noteBlock (block: unknown, into: ChatEvent[]): unknown {
    const { type, id: given, name } = objectOf(block) ?? {}
    if (type !== 'tool_use' || typeof given !== 'string' || typeof name !== 'string') return block
    const id = uniqueCallId(given, this.#ids)
    this.noteCall(id, name, into)
    return id === given ? block : { ...objectOf(block), id }
  }
}

/** Returns true if a block starts empty: its text arrives in deltas. */
function isEmptyText (block: unknown): boolean {
  const { type, text, thinking } = objectOf(block) ?? {}
  return (type === 'text' && text === '') || (type === 'thinking' && thinking === '')
}
