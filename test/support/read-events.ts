import { sseDecoder } from '../../lib/wire/sse-decoder.ts'
import type { StreamReader } from '../../lib/providers/provider.ts'

/** Returns all events of a stream that arrives in these pieces. */
export function readEvents<E> (pieces: Iterable<Uint8Array>, reader: StreamReader<E>): E[] {
  const messages = sseDecoder(1_000_000)
  const events: E[] = []
  const read = (complete: ReturnType<typeof messages.push>): void => {
    for (const message of complete) if (!reader.isDone) reader.read(message, events)
  }
  for (const piece of pieces) read(messages.push(piece))
  read(messages.end())
  if (!reader.isDone) reader.end(events)
  return events
}
