import { sseReader } from '../../lib/wire/sse.ts'
import type { StreamReader } from '../../lib/providers/provider.ts'

/** Returns all events of a stream that arrives in these pieces. */
export function readEvents<E> (pieces: Iterable<Uint8Array>, reader: StreamReader<E>): E[] {
  const sse = sseReader(1_000_000)
  const events: E[] = []
  for (const piece of pieces) {
    for (const message of sse.push(piece)) {
      if (!reader.done) reader.read(message, events)
    }
  }
  for (const message of sse.end()) {
    if (!reader.done) reader.read(message, events)
  }
  if (!reader.done) reader.end(events)
  return events
}
