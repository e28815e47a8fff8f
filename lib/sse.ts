/**
 * Bytes of an event stream to messages, one array per read; and messages to text.
 */

import { StringDecoder } from 'node:string_decoder'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { GatewayError } from './errors.ts'

export interface SseReader {
  /**
   * The messages that these bytes complete. Any split of a stream gives the same messages.
   * @throws GatewayError `upstream_invalid_response` for a message over the byte limit.
   */
  readonly push: (bytes: Uint8Array) => EventSourceMessage[]
  /** The message that was still open when the stream ended, if any. */
  readonly end: () => EventSourceMessage[]
}

/** @param maxBytes largest message, in UTF-16 units: a bound on memory, not a measure */
export function sseReader (maxBytes: number): SseReader {
  const decoder = new StringDecoder('utf8')
  let messages: EventSourceMessage[] = []
  let started = false
  const parser = createParser({
    maxBufferSize: maxBytes,
    onEvent: message => { messages.push(message) },
    onError: error => {
      if (error.type === 'max-buffer-size-exceeded') {
        throw new GatewayError('upstream_invalid_response', { message: 'The provider sent an event that is too large.' })
      }
      // Some servers report a failure as a field of its own: `error: {…}`.
      if (error.field === 'error') messages.push({ event: 'error', data: error.value ?? '' })
    }
  })

  const feed = (text: string): EventSourceMessage[] => {
    if (text === '') return []
    parser.feed(started ? text : withoutMark(text))
    started = true
    const complete = messages
    messages = []
    return complete
  }

  return {
    push: bytes => feed(decoder.write(bytes)),
    // A blank line ends the open message, whether or not its last line was ended.
    end: () => feed(decoder.end() + '\n\n')
  }
}

function withoutMark (text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** One unnamed message; `data` is a single line. */
export function sseData (data: string): string {
  return `data: ${data}\n\n`
}

/** One named message; official clients throw on `error` and drop every other name. */
export function sseEvent (event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`
}
