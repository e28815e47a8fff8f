/** Reads one event stream of the Messages API. */

import { GatewayError } from '../../core/errors.ts'
import { objectOf } from '../../json/type-guards.ts'
import { ProviderFailure, invalidResponse } from '../provider-failure.ts'
import { errorIn, inBandError } from './errors.ts'
import { objectIn, objectOrNothing, partsOf } from '../json-api.ts'
import { TextTemplate } from '../text-template.ts'
import { ResponseReader } from './response-reader.ts'
import { deltaName, textMessage } from './text-message.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Usage } from '../../core/usage.ts'
import type { AdapterInput, StreamReader } from '../provider.ts'
import type { WireStreamEvent } from './wire.ts'

const knownEvents: ReadonlySet<unknown> = new Set([
  'message_start',
  'content_block_start',
  deltaName,
  'content_block_stop',
  'message_delta',
  'message_stop',
  'error'
])

/**
 * Creates the reader of one stream. `answer-start` comes first; the finish of the choice and the usage come
 * last, on `message_stop` or from `end`. Pings and unknown events are ignored, as the provider asks of its
 * clients.
 *
 * @throws ProviderFailure for an `error` event, at the start or half-way
 * @throws GatewayError `upstream_invalid_response` for invalid JSON or a second start;
 *   `upstream_stream_interrupted` from `end` without a stop reason
 * @see https://docs.claude.com/en/docs/build-with-claude/streaming
 */
export function readStream (input: AdapterInput<ChatInput>): StreamReader<ChatEvent> {
  return new ChatStream(input)
}

class ChatStream implements StreamReader<ChatEvent> {
  readonly #reader: ResponseReader
  #messageId: unknown
  #hasStarted = false
  /** Valid while the block of the last text is open. */
  readonly #template = new TextTemplate(textMessage)
  isDone = false

  constructor ({ request }: AdapterInput<ChatInput>) {
    this.#reader = new ResponseReader(request)
  }

  read (message: EventSourceMessage, into: ChatEvent[]): void {
    const text = message.event === deltaName ? this.#template.deltaText(message.data) : undefined
    if (text === undefined) return this.#parse(message, into)
    this.#reader.noteText(text.length)
    into.push({ type: 'text-delta', choice: 0, text })
  }

  end (into: ChatEvent[]): void {
    if (!this.#reader.isFinished) throw new GatewayError('upstream_stream_interrupted')
    this.#reader.end(into)
  }

  usageSoFar (): Usage | undefined {
    return this.#reader.usage.soFar()
  }

  #parse ({ event: name, data }: EventSourceMessage, into: ChatEvent[]): void {
    if (name === 'error') throw new ProviderFailure(inBandError(objectOrNothing(data) ?? {}))
    // Messages with a custom event name can be anything.
    const event: WireStreamEvent | undefined =
      name === undefined || knownEvents.has(name) ? objectIn(data) : objectOrNothing(data)
    if (event === undefined) return
    const type = knownEvents.has(event.type) ? event.type : name
    if (type !== deltaName) this.#template.forget()
    switch (type) {
      case 'message_start':
        this.#start(event, into)
        break
      case 'content_block_start':
        for (const block of partsOf(event.content_block, 'a content block')) {
          this.#reader.startBlock(event.index, block, into)
        }
        break
      case deltaName: {
        const before = into.length
        for (const delta of partsOf(event.delta, 'a delta')) this.#reader.addToBlock(event.index, delta, into)
        if (into[before]?.type === 'text-delta') this.#template.noteMiss(data)
        break
      }
      case 'content_block_stop':
        this.#reader.endBlock(event.index, into)
        break
      case 'message_delta':
        this.#reader.usage.read(event.usage ?? objectOf(event.delta)?.['usage'])
        this.#reader.finish(objectOf(event.delta) ?? {}, into)
        break
      case 'message_stop':
        this.#reader.usage.read(event.usage ?? objectOf(event.message)?.['usage'])
        this.isDone = true
        this.#reader.end(into)
        break
      default: {
        const failure = errorIn(event)
        if (failure !== undefined) throw new ProviderFailure(failure)
      }
    }
  }

  #start (event: WireStreamEvent, into: ChatEvent[]): void {
    const message = objectOf(event.message) ?? {}
    if (!this.#hasStarted) this.#reader.start(message, true, into)
    else if (message['id'] !== this.#messageId) throw invalidResponse('a second message_start event')
    this.#hasStarted = true
    this.#messageId = message['id']
  }
}
