/**
 * Bytes of an event stream to messages, one array per read; and messages to text.
 */

import { StringDecoder } from 'node:string_decoder'
import {
  createParser,
  type EventSourceMessage,
  type EventSourceParser,
  type ParseError
} from 'eventsource-parser'
import { GatewayError } from '../core/errors.ts'

export interface SseReader {
  /**
   * Returns the messages that these bytes complete. Any split of a stream gives the same messages.
   *
   * @throws GatewayError `upstream_invalid_response` for a message over the limit
   */
  readonly push: (bytes: Uint8Array) => EventSourceMessage[]
  /** Returns the message that was still open when the stream ended, if any. */
  readonly end: () => EventSourceMessage[]
}

/** @param maxLength characters of the largest message */
export function sseReader (maxLength: number): SseReader {
  return new Reader(maxLength)
}

const none: EventSourceMessage[] = []
const byteOrderMark = '\ufeff'

class Reader implements SseReader {
  readonly #parser: EventSourceParser
  // Not a TextDecoder: of a stream, it makes text of two bytes a character, ASCII or not.
  readonly #decoder = new StringDecoder()
  #begun = false
  /** The messages of this read. */
  #messages = none

  constructor (maxLength: number) {
    this.#parser = createParser({
      maxBufferSize: maxLength,
      onEvent: message => { this.#messages.push(message) },
      onError: error => { this.#readError(error) }
    })
  }

  push (bytes: Uint8Array): EventSourceMessage[] {
    return this.#feed(this.#decoder.write(bytes))
  }

  /** A blank line ends the open message, whether or not its last line was ended. */
  end (): EventSourceMessage[] {
    return this.#feed(`${this.#decoder.end()}\n\n`)
  }

  #feed (text: string): EventSourceMessage[] {
    // A list that waits for the next read would be promoted to old space, and keep its messages alive.
    const complete: EventSourceMessage[] = []
    this.#messages = complete
    this.#parser.feed(this.#begun ? text : this.#withoutMark(text))
    this.#messages = none
    return complete
  }

  /** The parser knows the mark only as three characters, one for each of its bytes. */
  #withoutMark (text: string): string {
    this.#begun = text !== ''
    return text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text
  }

  #readError (error: ParseError): void {
    if (error.type === 'max-buffer-size-exceeded') {
      throw new GatewayError('upstream_invalid_response', {
        message: 'The provider sent an event that is too large.'
      })
    }
    // Some servers report a failure as a field of its own: `error: {…}`.
    if (error.field === 'error') {
      this.#messages.push({ id: undefined, event: 'error', data: error.value ?? '' })
    }
  }
}

/** Returns one unnamed message; `data` is a single line. */
export function sseData (data: string): string {
  return `data: ${data}\n\n`
}

/** A comment without an empty line after it, which some clients take for an empty event. */
export const keepAliveComment = ': ping\n'

/** The message after the last one, as OpenAI's clients expect it. */
export const endOfStream = sseData('[DONE]')

/** Returns the messages of a text of ours one by one, each with its end. */
export function splitFrames (text: string): string[] {
  return text.split('\n\n').slice(0, -1).map(frame => `${frame}\n\n`)
}

/** Returns one message with data of any number of lines, named or not. */
export function sseFrame (event: string | undefined, data: string): string {
  const lines = data.includes('\n') ? data.replaceAll('\n', '\ndata: ') : data
  return event === undefined ? sseData(lines) : sseEvent(event, lines)
}

/** Returns one named message; official clients throw on `error` and drop every other name. */
export function sseEvent (event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`
}
