/** Reads one event stream of Gemini: every message is a fragment in the shape of a whole answer. */

import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { GatewayError } from '../../core/errors.ts'
import { ResponseReader } from './response-reader.ts'
import { inBandError } from './errors.ts'
import { objectOf } from '../../json/guards.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Ask, StreamReader } from '../provider.ts'

/**
 * `response-start` comes first; the end of each choice and the usage come from `end()`, because
 * the stream has no last message: it just ends.
 *
 * @throws GatewayError for an error inside the stream, `upstream_invalid_response` for a message
 *   that is not JSON, and `upstream_stream_interrupted` from `end()` when a candidate that began is not over, or none began
 */
export function readStream (ask: Ask<ChatInput>): StreamReader<ChatEvent> {
  const answer = new ResponseReader(offersFunctionsOnly(ask.request))

  return {
    done: false,

    message ({ data }: EventSourceMessage): ChatEvent[] {
      const events: ChatEvent[] = []
      for (const wire of payloads(data)) {
        const error = inBandError(wire)
        if (error !== undefined) throw error
        answer.read(wire, events)
      }
      return events
    },

    end () {
      if (!answer.isComplete) throw new GatewayError('upstream_stream_interrupted')
      const events: ChatEvent[] = []
      answer.end(events)
      return events
    }
  }
}

/** The objects of one message: one, or (seen with errors) a list of one. */
function payloads (data: string): Array<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', { cause })
  }
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  return items.map(objectOf).filter(item => item !== undefined)
}
