import { parseBounded } from '../../json/parse-bounded.ts'
import { readStream as readDialectStream } from '../chat-completions/chat-stream.ts'
import { ProviderFailure } from '../provider-failure.ts'
import { flatError } from './errors.ts'
import { inclusiveUsage, withInclusiveUsage } from './usage.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { AdapterInput, StreamReader } from '../provider.ts'

/**
 * Reads the messages of one stream. The usage that runs along on every chunk grows, so the last one
 * counts, which is how the dialect reads it anyway.
 *
 * @throws ProviderFailure for an error inside the stream, see `flatError`
 */
export function readStream (input: AdapterInput<ChatInput>): StreamReader<ChatEvent> {
  const reader = readDialectStream(input)
  return {
    get done () { return reader.done },
    read: (message, into) => {
      // Chunks begin with their id, so only a suspect is parsed twice.
      if (/^\s*\{\s*"(?:code|error)"/.test(message.data)) {
        const failure = flatError(parsed(message.data))
        if (failure !== undefined) throw new ProviderFailure(failure)
      }
      const from = into.length
      reader.read(message, into)
      if (reader.done) correctUsage(into, from)
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

/** Returns nothing for what is no JSON: the dialect's reader refuses it. */
function parsed (text: string): unknown {
  try {
    return parseBounded(text)
  } catch {
    return undefined
  }
}
