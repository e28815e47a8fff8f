import { parseBounded } from '../../json/parse-bounded.ts'
import { readStream as readDialectStream } from '../chat-completions/chat-stream.ts'
import { ProviderFailure } from '../provider-failure.ts'
import { flatError } from './errors.ts'
import { inclusiveUsage, withInclusiveUsage } from './usage.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { AdapterInput, StreamReader } from '../provider.ts'

/**
 * Creates the reader of one stream. Every chunk carries cumulative usage; the last one counts, as in the
 * dialect.
 *
 * @throws ProviderFailure for an error inside the stream, see `flatError`
 */
export function readStream (input: AdapterInput<ChatInput>): StreamReader<ChatEvent> {
  const reader = readDialectStream(input)
  return {
    get isDone () { return reader.isDone },
    read: (message, into) => {
      // Chunks start with their id, so only suspects are parsed twice.
      if (/^\s*\{\s*"(?:code|error)"/.test(message.data)) {
        const failure = flatError(parsed(message.data))
        if (failure !== undefined) throw new ProviderFailure(failure)
      }
      const from = into.length
      reader.read(message, into)
      if (reader.isDone) correctUsage(into, from)
    },
    end: into => {
      const from = into.length
      reader.end(into)
      correctUsage(into, from)
    },
    usageSoFar: () => {
      const usage = reader.usageSoFar?.()
      return usage && inclusiveUsage(usage)
    }
  }
}

function correctUsage (events: ChatEvent[], from: number): void {
  for (let at = from; at < events.length; at++) {
    const event = events[at]
    if (event?.type === 'usage') events[at] = withInclusiveUsage(event)
  }
}

/** Returns `undefined` for invalid JSON, which the dialect's reader rejects. */
function parsed (text: string): unknown {
  try {
    return parseBounded(text)
  } catch {
    return undefined
  }
}
