import { chatCompletions } from '../chat-completions/index.ts'
import { flatError } from './errors.ts'
import { inclusiveUsage } from './usage.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Ask, StreamReader } from '../provider.ts'

/**
 * Reads one event stream. The usage that runs along on every chunk grows, so the last one counts,
 * which is how the dialect reads it anyway.
 *
 * @throws GatewayError for an error inside the stream, see `flatError`
 */
export function readStream (ask: Ask<ChatInput>): StreamReader<ChatEvent> {
  const reader = chatCompletions.stream(ask)
  return {
    get done () { return reader.done },
    message: message => {
      // Chunks begin with their id, so only a suspect is parsed twice.
      if (/^\s*\{\s*"(?:code|error)"/.test(message.data)) {
        const error = flatError(parsed(message.data))
        if (error !== undefined) throw error
      }
      const events = reader.message(message)
      return reader.done ? events.map(inclusiveUsage) : events
    },
    end: () => reader.end().map(inclusiveUsage)
  }
}

/** The value, or nothing: what is no JSON is for the dialect to complain about. */
function parsed (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
