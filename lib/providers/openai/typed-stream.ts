/** The event streams of speech and transcription: objects with a `type`, one of which is the last. */

import { GatewayError } from '../../core/errors.ts'
import { inBandError } from '../chat-completions/errors.ts'
import { parseObject } from './wire.ts'
import type { StreamReader } from '../provider.ts'

type Message = Readonly<Record<string, unknown>>

/**
 * Reads one such stream.
 *
 * @param read the events of one message; of messages it does not know none
 * @param isLast whether the answer is complete with this message
 * @throws GatewayError for an error inside the stream, and `upstream_stream_interrupted` when it
 *   ends without its last message
 */
export function typedStream<E> (read: (message: Message) => E[], isLast: (message: Message) => boolean): StreamReader<E> {
  let complete = false
  let done = false
  const end = (): E[] => {
    if (!complete) throw new GatewayError('upstream_stream_interrupted')
    return []
  }
  return {
    get done () { return done },
    end,
    message: ({ event, data }) => {
      if (data.trim() === '[DONE]') {
        done = true
        return end()
      }
      const message = parseObject(data)
      const error = inBandError(message, event === 'error')
      if (error !== undefined) throw error
      complete ||= isLast(message)
      return read(message)
    }
  }
}
