/** Reads event streams: bytes to messages, one array per read. `sse-frames` prints them. */

import { StringDecoder } from 'node:string_decoder'
import {
  createParser,
  type EventSourceMessage,
  type EventSourceParser,
  type ParseError
} from 'eventsource-parser'
import { GatewayError } from '../core/errors.ts'

/** Reads the bytes of one stream into messages. */
export interface StreamDecoder {
  /**
   * Returns the messages that these bytes complete. Any split of a stream gives the same messages.
   *
   * @throws GatewayError `upstream_invalid_response` for a message over the limit
   */
  readonly push: (bytes: Uint8Array) => EventSourceMessage[]
  /** Returns the message that was still open when the stream ended, if any. */
  readonly end: () => EventSourceMessage[]
}

/**
 * Creates a reader of one stream.
 *
 * @param maxLength the largest message, in UTF-16 code units: never more than its bytes
 * @param onRetry takes the milliseconds after which the server wants to be asked again
 */
export function sseReader (maxLength: number, onRetry?: (ms: number) => void): StreamDecoder {
  return new Reader(maxLength, onRetry)
}

const none: EventSourceMessage[] = []
/** Lines in one read that are no fields: the parser makes an error of each, which takes microseconds. */
const maxStrayLines = 1000
/** Lines of a message that is not complete: each costs memory besides its text. */
const maxOpenLines = 100_000
const byteOrderMark = '\ufeff'

class Reader implements StreamDecoder {
  readonly #parser: EventSourceParser
  // Not a TextDecoder: of a stream, it makes text of two bytes a character, ASCII or not.
  readonly #decoder = new StringDecoder()
  #begun = false
  /** True when the last read ended with a carriage return, which a line feed may follow. */
  #afterReturn = false
  /** The messages of this read. */
  #messages = none
  /** Lines of this read that are no fields. */
  #strayLines = 0
  /** Lines since the last read that had a message. */
  #openLines = 0

  constructor (maxLength: number, onRetry: (ms: number) => void = () => {}) {
    this.#parser = createParser({
      maxBufferSize: maxLength,
      onEvent: message => { this.#messages.push(message) },
      onError: error => { this.#readError(error) },
      onRetry
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
    this.#strayLines = 0
    const lines = this.#afterReturn || text.includes('\r') ? this.#withoutReturns(text) : text
    this.#parser.feed(this.#begun ? lines : this.#withoutMark(lines))
    this.#messages = none
    this.#openLines = complete.length > 0 ? 0 : this.#openLines + linesIn(lines)
    if (this.#openLines > maxOpenLines) throw tooLarge()
    return complete
  }

  /** Carriage returns end lines too. For each, the parser would look through all of the read. */
  #withoutReturns (text: string): string {
    const rest = this.#afterReturn && text.startsWith('\n') ? text.slice(1) : text
    if (text !== '') this.#afterReturn = text.endsWith('\r')
    return rest.replaceAll(/\r\n?/g, '\n')
  }

  /** The parser knows the mark only as three characters, one for each of its bytes. */
  #withoutMark (text: string): string {
    this.#begun = text !== ''
    return text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text
  }

  #readError (error: ParseError): void {
    if (error.type === 'max-buffer-size-exceeded') throw tooLarge()
    if (++this.#strayLines > maxStrayLines) {
      throw new GatewayError('upstream_invalid_response', { cause: 'lines that are no event stream' })
    }
    // Some servers report a failure as a field of its own: `error: {…}`.
    if (error.field === 'error') {
      this.#messages.push({ id: undefined, event: 'error', data: error.value ?? '' })
    }
  }
}

function linesIn (text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count++
  return count
}

function tooLarge (): GatewayError {
  return new GatewayError('upstream_invalid_response', {
    message: 'The provider sent an event that is too large.'
  })
}
