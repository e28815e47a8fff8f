/** Reads the event streams of speech and transcription: objects with a `type`, one of which marks the end. */

import { GatewayError } from '../../core/errors.ts'
import { nonEmptyText } from '../../json/type-guards.ts'
import { inBandError } from '../chat-completions/errors.ts'
import { ProviderFailure } from '../provider-failure.ts'
import { parseObject } from './wire.ts'
import type { StreamReader } from '../provider.ts'

type Message = Readonly<Record<string, unknown>>

/**
 * Reads one such stream. For a message without a `type`, the event name is used.
 *
 * @param read appends the events of one message; unknown messages give none
 * @param isLast true for the message that completes the response
 * @throws ProviderFailure for an error inside the stream
 * @throws GatewayError `upstream_stream_interrupted` if it ends without its last message
 */
export function typedStream<E> (
  read: (message: Message, into: E[]) => void, isLast: (message: Message) => boolean
): StreamReader<E> {
  let complete = false
  let done = false
  const end = (): void => {
    if (!complete) throw new GatewayError('upstream_stream_interrupted')
  }
  return {
    get isDone () { return done },
    end,
    read: ({ event, data }, into) => {
      if (data.trim() === '[DONE]') {
        done = true
        end()
        return
      }
      const message = named(parseObject(data), event)
      const failure = inBandError(message, event === 'error')
      if (failure !== undefined) throw new ProviderFailure(failure)
      complete ||= isLast(message)
      read(message, into)
    }
  }
}

function named (message: Message, event: string | undefined): Message {
  return event === undefined || nonEmptyText(message['type']) !== undefined
    ? message
    : { ...message, type: event }
}
