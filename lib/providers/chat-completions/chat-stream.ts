/** Reads one event stream of the dialect; keeps the state of one answer. */

import { asFunctionCall, offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { GatewayError } from '../../core/errors.ts'
import { ResponseReader, parseObject } from './response-reader.ts'
import { inBandError } from './errors.ts'
import { TextTemplate } from './text-template.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Ask, StreamReader } from '../provider.ts'

/**
 * `response-start` comes first; the finish of each choice and the usage come last, from the
 * message `[DONE]` or from `end()`.
 *
 * @throws GatewayError for an error inside the stream, and `upstream_stream_interrupted` from
 *   `end()` when a choice that began has no finish reason
 */
export function readStream (ask: Ask<ChatInput>): StreamReader<ChatEvent> {
  const answer = new ResponseReader()
  const inCallersForm = offersFunctionsOnly(ask.request) ? asFunctionCall : (events: ChatEvent[]) => events
  let template: TextTemplate | undefined
  let done = false

  const end = (): ChatEvent[] => {
    const lenient = (done && ask.quirks.lenientFinish === true) && answer.anyChoice
    if (!answer.complete && !lenient) throw new GatewayError('upstream_stream_interrupted')
    const events: ChatEvent[] = []
    answer.end(events)
    return inCallersForm(events)
  }

  return {
    get done () { return done },

    message ({ event, data }: EventSourceMessage): ChatEvent[] {
      const text = template?.textOf(data)
      if (text !== undefined) return [{ type: 'text-delta', choice: 0, text }]
      if (isDone(data)) {
        done = true
        return end()
      }
      if (event !== undefined && event !== 'error' && event !== 'message') return []
      const chunk = event === 'error' ? errorPayload(data) : parseObject(data)
      const error = inBandError(chunk, event === 'error')
      if (error !== undefined) throw error
      const read: ChatEvent[] = []
      answer.read(chunk, read)
      const events = inCallersForm(read)
      const [only] = events
      if (events.length === 1 && only?.type === 'text-delta' && only.choice === 0 && only.logprobs === undefined) {
        template = TextTemplate.of(data)
      }
      return events
    },

    end
  }
}

/** `[DONE]`, with whatever white space a server puts around it. */
function isDone (data: string): boolean {
  return data.charCodeAt(0) !== 0x7b && data.trim() === '[DONE]'
}

/** An `event: error` holds an object, or just words. */
function errorPayload (data: string): Record<string, unknown> {
  try {
    return parseObject(data)
  } catch {
    return { error: data }
  }
}
