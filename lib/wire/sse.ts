/**
 * Bytes of an event stream to messages, one array per read; and messages to text.
 */

import { isAscii } from 'node:buffer'
import { createParser, type EventSourceMessage, type EventSourceParser, type ParseError } from 'eventsource-parser'
import { GatewayError } from '../core/errors.ts'

export interface SseReader {
  /** True while no message is open. */
  readonly isBetweenMessages: boolean
  /**
   * The messages that these bytes complete. Any split of a stream gives the same messages.
   * @throws GatewayError `upstream_invalid_response` for a message over the byte limit.
   */
  readonly push: (bytes: Uint8Array) => EventSourceMessage[]
  /** Does what `push` does with bytes that came as characters. */
  readonly pushText: (bytes: string, isAscii: boolean) => EventSourceMessage[]
  /** Frees the parser, of 1 KB, for as long as what comes is read without it. Not while a message is open. */
  readonly rest: () => void
  /** The message that was still open when the stream ended, if any. */
  readonly end: () => EventSourceMessage[]
}

/**
 * Bytes are taken apart as they are, one to a character, and only messages that hold more than
 * ASCII are decoded: one such letter in a read would make a wide text of all of it, which costs
 * several times as much at every step from here to the caller.
 *
 * @param maxBytes largest message
 */
export function sseReader (maxBytes: number): SseReader {
  return new Reader(maxBytes)
}

const none: EventSourceMessage[] = []

/** A class: V8 keeps a literal with a getter as a table, of 0.8 KB for each open stream. */
class Reader implements SseReader {
  readonly #maxBytes: number
  #parser: EventSourceParser | undefined
  /** The list for the messages of this read. */
  #messages = none
  /** The text that may yet turn out to be the first part of a byte order mark; `undefined` from then on. */
  #opening: string | undefined = ''
  /** True while the open message, or one of this read, may hold more than ASCII. */
  #beyondAscii = false
  #isBetweenMessages = false

  constructor (maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#parser = this.#open()
  }

  get isBetweenMessages (): boolean {
    return this.#isBetweenMessages
  }

  push (bytes: Uint8Array): EventSourceMessage[] {
    return this.pushText(bytesAsText(bytes), isAscii(bytes))
  }

  pushText (bytes: string, isAscii: boolean): EventSourceMessage[] {
    this.#beyondAscii = !isAscii || (this.#beyondAscii && !this.#isBetweenMessages)
    this.#isBetweenMessages = bytes.endsWith('\n\n') || bytes.endsWith('\n\r\n')
    const text = this.#opening === undefined ? bytes : this.#opening + bytes
    if (this.#opening !== undefined) {
      this.#opening = text.length < mark.length && mark.startsWith(text) ? text : undefined
      if (this.#opening !== undefined) return []
    }
    if (this.#parser === undefined) {
      this.#parser = this.#open()
      this.#parser.feed('\n') // a mark that stands further on is none
    }
    // A list that waits for the next read would be promoted to old space, and keep the messages of that until the next full collection.
    const complete: EventSourceMessage[] = []
    this.#messages = complete
    this.#parser.feed(text) // takes the mark off
    this.#messages = none
    return complete
  }

  rest (): void {
    this.#parser = undefined
  }

  /** A blank line ends the open message, whether or not its last line was ended. */
  end (): EventSourceMessage[] {
    return this.pushText('\n\n', true)
  }

  #open (): EventSourceParser {
    return createParser({
      maxBufferSize: this.#maxBytes,
      onEvent: message => { this.#messages.push(this.#beyondAscii ? decoded(message) : message) },
      onError: error => { this.#readError(error) }
    })
  }

  #readError (error: ParseError): void {
    if (error.type === 'max-buffer-size-exceeded') throw messageTooLarge()
    // Some servers report a failure as a field of its own: `error: {…}`.
    if (error.field === 'error') this.#messages.push({ event: 'error', data: utf8(error.value ?? '') })
  }
}

export function messageTooLarge (): GatewayError {
  return new GatewayError('upstream_invalid_response', { message: 'The provider sent an event that is too large.' })
}

/** Returns bytes as text, one to a character. */
export function bytesAsText ({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
}

/** Returns how a line ends, by the place of its last character. Nearly all streams end all lines in one way, but comments of a proxy may end in another. */
export function lineEndAt (text: string, end: number): '\n' | '\r\n' {
  return text.charCodeAt(end - 1) === carriageReturn ? '\r\n' : '\n'
}

const carriageReturn = 0x0d

/** The byte order mark, a character for each of its bytes. */
const mark = '\u00ef\u00bb\u00bf'

function decoded ({ id, event, data }: EventSourceMessage): EventSourceMessage {
  return { id: id && utf8(id), event: event && utf8(event), data: utf8(data) }
}

/** Returns the text of bytes that came as characters. Only ASCII takes as many bytes as it has characters. */
function utf8 (bytes: string): string {
  return Buffer.byteLength(bytes) === bytes.length ? bytes : Buffer.from(bytes, 'latin1').toString()
}

/** Returns one unnamed message; `data` is a single line. */
export function sseData (data: string): string {
  return `data: ${data}\n\n`
}

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
