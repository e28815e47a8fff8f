/** Reads one event stream of the Messages API; keeps the state of one answer. */

import { GatewayError } from '../../core/errors.ts'
import { objectOf } from '../../json/guards.ts'
import { ResponseReader } from './response-reader.ts'
import { inBandError } from './errors.ts'
import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Ask, StreamReader } from '../provider.ts'
import type { WireStreamEvent } from './wire.ts'

const knownEvents = new Set([
  'message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'message_stop'
])

/**
 * `response-start` comes first; the finish of the choice and the usage come last, from the event
 * `message_stop` or from `end()`. Pings and events yet to be invented give nothing, as the
 * provider asks of its clients.
 *
 * @throws GatewayError for an `error` event, which may come first or half-way;
 *   `upstream_invalid_response` for what is no JSON or begins a second answer; and
 *   `upstream_stream_interrupted` from `end()` when no reason for the end was given
 * @see https://docs.claude.com/en/docs/build-with-claude/streaming
 */
export function readStream ({ request }: Ask<ChatInput>): StreamReader<ChatEvent> {
  const answer = new ResponseReader(offersFunctionsOnly(request))
  let messageId: unknown
  let started = false
  let done = false

  const start = (event: WireStreamEvent, events: ChatEvent[]): void => {
    const message = objectOf(event.message) ?? {}
    if (!started) answer.start(message, events)
    else if (message['id'] !== messageId) throw new GatewayError('upstream_invalid_response', { cause: 'second message_start' })
    started = true
    messageId = message['id']
  }

  return {
    get done () { return done },

    message ({ event: name, data }: EventSourceMessage): ChatEvent[] {
      if (name === 'error') throw inBandError(parsed(data) ?? {})
      if (name !== undefined && !knownEvents.has(name)) return []
      const event: WireStreamEvent | undefined = parsed(data)
      if (event === undefined) throw new GatewayError('upstream_invalid_response', { cause: 'no JSON object' })
      const events: ChatEvent[] = []
      switch (event.type ?? name) {
        case 'message_start':
          start(event, events)
          break
        case 'content_block_start':
          answer.startBlock(event.index, objectOf(event.content_block) ?? {}, events)
          break
        case 'content_block_delta':
          answer.addToBlock(event.index, objectOf(event.delta) ?? {}, events)
          break
        case 'content_block_stop':
          answer.endBlock(event.index, events)
          break
        case 'message_delta':
          answer.usage.read(event.usage)
          answer.finish(objectOf(event.delta) ?? {}, events)
          break
        case 'message_stop':
          done = true
          answer.end(events)
          break
        case 'error':
          throw inBandError(event)
      }
      return events
    },

    end: () => {
      if (!answer.finished) throw new GatewayError('upstream_stream_interrupted')
      const events: ChatEvent[] = []
      answer.end(events)
      return events
    }
  }
}

function parsed (data: string): Record<string, unknown> | undefined {
  try {
    return objectOf(JSON.parse(data))
  } catch {
    return undefined // the caller says what that means
  }
}
