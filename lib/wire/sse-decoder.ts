/** Decodes event streams: converts bytes to messages, one array per read. `sse-frames` prints them. */

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
   * Returns the messages completed by these bytes. The result does not depend on how a stream is split.
   *
   * @throws GatewayError `upstream_invalid_response` for a message over the limit
   */
  readonly push: (bytes: Uint8Array) => EventSourceMessage[]
  /** Returns the message still open at the end of the stream, if any. */
  readonly end: () => EventSourceMessage[]
}

/**
 * Creates the decoder of one stream.
 *
 * @param maxLength maximum message length in UTF-16 code units, which is at most its byte length
 * @param onRetry called with the server's reconnection delay in milliseconds
 */
export function sseDecoder (maxLength: number, onRetry?: (ms: number) => void): StreamDecoder {
  return new Reader(maxLength, onRetry)
}

const none: EventSourceMessage[] = []
/** Maximum invalid lines per read: the parser creates an error for each, which takes microseconds. */
const maxStrayLines = 1000
/** Maximum lines of an incomplete message: each has memory overhead. */
const maxOpenLines = 100_000
const byteOrderMark = '\ufeff'

class Reader implements StreamDecoder {
  readonly #parser: EventSourceParser
  // Not a TextDecoder: in stream mode it returns two-byte strings even for ASCII.
  readonly #decoder = new StringDecoder()
  #hasBegun = false
  /** True if the last read ended with a carriage return, so that a line feed may follow. */
  #isAfterReturn = false
  /** The messages of this read. */
  #messages = none
  /** Invalid lines of this read. */
  #strayLines = 0
  /** Lines since the last complete message. */
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

  /** Sends a blank line, which ends the open message even if its last line is unterminated. */
  end (): EventSourceMessage[] {
    return this.#feed(`${this.#decoder.end()}\n\n`)
  }

  #feed (text: string): EventSourceMessage[] {
    // A list kept until the next read would be promoted to old space and keep its messages alive.
    const complete: EventSourceMessage[] = []
    this.#messages = complete
    this.#strayLines = 0
    const lines = this.#isAfterReturn || text.includes('\r') ? this.#withoutReturns(text) : text
    this.#parser.feed(this.#hasBegun ? lines : this.#withoutMark(lines))
    this.#messages = none
    this.#openLines = complete.length > 0 ? 0 : this.#openLines + linesIn(lines)
    if (this.#openLines > maxOpenLines) throw tooLarge()
    return complete
  }

  /** Normalises carriage returns, each of which would make the parser scan the entire read. */
  #withoutReturns (text: string): string {
    const rest = this.#isAfterReturn && text.startsWith('\n') ? text.slice(1) : text
    if (text !== '') this.#isAfterReturn = text.endsWith('\r')
    return rest.replaceAll(/\r\n?/g, '\n')
  }

  /** The parser only recognises the byte order mark as three characters, one per byte. */
  #withoutMark (text: string): string {
    this.#hasBegun = text !== ''
    return text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text
  }

  #readError (error: ParseError): void {
    if (error.type === 'max-buffer-size-exceeded') throw tooLarge()
    if (++this.#strayLines > maxStrayLines) {
      throw new GatewayError('upstream_invalid_response', { cause: 'lines that are no event stream' })
    }
    // Some servers report a failure as a separate field: `error: {…}`.
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
