/** Reads one event stream of Gemini: every message has the shape of a complete response. */

import { GatewayError } from '../../core/errors.ts'
import { objectOf } from '../../json/type-guards.ts'
import { ProviderFailure } from '../provider-failure.ts'
import { inBandError } from './errors.ts'
import { objectIn, objectOrNothing, parseData } from '../json-api.ts'
import { ResponseReader } from './response-reader.ts'
import { TextTemplate } from '../text-template.ts'
import { textMessage } from './text-message.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Usage } from '../../core/usage.ts'
import type { AdapterInput, StreamReader } from '../provider.ts'

/**
 * Creates the reader of one stream. `answer-start` comes first; the end of each choice and the usage come
 * from `end`, because the stream has no final message.
 *
 * @throws ProviderFailure for an error inside the stream
 * @throws GatewayError `upstream_invalid_response` for invalid JSON, and `upstream_stream_interrupted` from
 *   `end` if no candidate began or one has not ended
 */
export function readStream (input: AdapterInput<ChatInput>): StreamReader<ChatEvent> {
  return new ChatStream(input)
}

class ChatStream implements StreamReader<ChatEvent> {
  readonly #reader: ResponseReader
  readonly #template = new TextTemplate(textMessage)
  /** The choice that the template belongs to. */
  #choice = 0
  /** The last message that was not parsed: it may hold the final counts. */
  #unparsed: string | undefined
  readonly isDone = false

  constructor ({ request }: AdapterInput<ChatInput>) {
    this.#reader = new ResponseReader(request)
  }

  read ({ data }: EventSourceMessage, into: ChatEvent[]): void {
    const text = this.#template.deltaText(data)
    if (text === undefined) return this.#parse(data, into)
    this.#unparsed = data
    into.push({ type: 'text-delta', choice: this.#choice, text })
  }

  end (into: ChatEvent[]): void {
    this.#readCounts()
    if (!this.#reader.isComplete) throw new GatewayError('upstream_stream_interrupted')
    this.#reader.end(into)
  }

  usageSoFar (): Usage | undefined {
    this.#reader.readCounts(objectOrNothing(this.#unparsed ?? '') ?? {})
    return this.#reader.usageSoFar
  }

  #parse (data: string, into: ChatEvent[]): void {
    this.#readCounts()
    const value = parseData(data)
    const before = into.length
    // Usually an object; errors may come as a list of one.
    for (const item of Array.isArray(value) ? value as readonly unknown[] : [value]) {
      const wire = objectOf(item)
      if (wire === undefined) continue
      const failure = inBandError(wire)
      if (failure !== undefined) throw new ProviderFailure(failure)
      this.#reader.read(wire, into)
    }
    const only = into[before]
    if (into.length !== before + 1 || only?.type !== 'text-delta' || only.logprobs !== undefined) return
    this.#template.noteMiss(data)
    this.#choice = only.choice
  }

  #readCounts (): void {
    if (this.#unparsed === undefined) return
    this.#reader.readCounts(objectIn(this.#unparsed) ?? {})
    this.#unparsed = undefined
  }
}
