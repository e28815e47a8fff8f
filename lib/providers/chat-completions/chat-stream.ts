/** Reads one event stream of the dialect. */

import { asFunctionCall, offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { GatewayError } from '../../core/errors.ts'
import { openObject } from '../../json/characters.ts'
import { objectOf, onlyObjectOf } from '../../json/type-guards.ts'
import { objectIn, objectOrNothing } from '../json-api.ts'
import { ProviderFailure } from '../provider-failure.ts'
import { inBandError } from './errors.ts'
import { ResponseReader } from './response-reader.ts'
import { TextTemplate, type TextMessage } from '../text-template.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Usage } from '../../core/usage.ts'
import type { AdapterInput, StreamReader } from '../provider.ts'

/**
 * Creates the reader of one stream. `answer-start` comes first; the finish of each choice and the usage
 * come last, on `[DONE]` or from `end`.
 *
 * @throws ProviderFailure for an error inside the stream
 * @throws GatewayError `upstream_invalid_response` for invalid JSON, and `upstream_stream_interrupted` from
 *   `end` if a choice that began has no finish reason
 */
export function readStream (input: AdapterInput<ChatInput>): StreamReader<ChatEvent> {
  return offersFunctionsOnly(input.request) ? new FunctionCallStream(input) : new ChatStream(input)
}

/** Describes chunks that hold text of choice 0. */
const textMessage: TextMessage = {
  opening: /"content":\s?"/,
  hasNoOtherFacts: (text, { choices }) => objectOf(onlyObjectOf(choices)?.['delta'])?.['content'] === text
}

class ChatStream implements StreamReader<ChatEvent> {
  readonly #reader: ResponseReader
  readonly #acceptsMissingFinish: boolean
  readonly #template = new TextTemplate(textMessage)
  isDone = false

  constructor ({ request, quirks }: AdapterInput<ChatInput>) {
    this.#reader = new ResponseReader(request)
    this.#acceptsMissingFinish = quirks.lenientFinish === true
  }

  read ({ event, data }: EventSourceMessage, into: ChatEvent[]): void {
    const text = event === 'error' ? undefined : this.#template.deltaText(data)
    if (text !== undefined) {
      this.#reader.noteText()
      into.push({ type: 'text-delta', choice: 0, text })
    } else if (isDone(data)) {
      this.isDone = true
      this.end(into)
    } else {
      const chunk = chunkOf(event, data)
      if (chunk !== undefined) this.#readChunk(chunk, event === 'error', data, into)
    }
  }

  end (into: ChatEvent[]): void {
    const mayLackFinish = this.isDone && this.#acceptsMissingFinish && this.#reader.hasChoice
    if (!this.#reader.isComplete && !mayLackFinish) throw new GatewayError('upstream_stream_interrupted')
    this.#reader.end(into)
  }

  usageSoFar (): Usage | undefined {
    return this.#reader.usage
  }

  #readChunk (chunk: Record<string, unknown>, isError: boolean, data: string, into: ChatEvent[]): void {
    const failure = inBandError(chunk, isError)
    if (failure !== undefined) throw new ProviderFailure(failure)
    const before = into.length
    this.#reader.read(chunk, into)
    if (this.#reader.isThinking) {
      // Parse the next text: it ends the thinking before it.
      this.#template.forget()
      return
    }
    const only = into.length === before + 1 ? into[before] : undefined
    if (only?.type === 'text-delta' && only.choice === 0 && only.logprobs === undefined) {
      this.#template.noteMiss(data)
    } else if (into.slice(before).some(event => event.type === 'extra')) {
      this.#template.forget() // its values are out of date
    }
  }
}

/** Converts tool calls to the deprecated form, for callers who offered `functions`. */
class FunctionCallStream extends ChatStream {
  override read (message: EventSourceMessage, into: ChatEvent[]): void {
    const events: ChatEvent[] = []
    super.read(message, events)
    for (const event of asFunctionCall(events)) into.push(event)
  }

  override end (into: ChatEvent[]): void {
    const events: ChatEvent[] = []
    super.end(events)
    for (const event of asFunctionCall(events)) into.push(event)
  }
}

/** Recognises `[DONE]`, with optional white space or quotes. */
function isDone (data: string): boolean {
  if (data.charCodeAt(0) === openObject || data.length > 64) return false
  const text = data.trim()
  return text === '[DONE]' || text === '"[DONE]"'
}

/**
 * Returns the chunk of a message; `undefined` for keep-alives, which some servers send as empty data, `null`,
 * numbers, or chunks with a custom event name.
 */
function chunkOf (event: string | undefined, data: string): Record<string, unknown> | undefined {
  if (event === 'error') return objectOrNothing(data) ?? { error: data }
  const isNamed = event !== undefined && event !== 'message'
  if (isNamed && data.charCodeAt(0) !== openObject) return undefined
  const chunk = objectIn(data)
  return isNamed && chunk?.['choices'] === undefined && chunk?.['error'] === undefined ? undefined : chunk
}
