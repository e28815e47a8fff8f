import { AnswerMemory } from '../../lib/attempts/answer-memory.ts'
import { BodyQueue } from '../../lib/client/body-queue.ts'
import { StreamResponse } from '../../lib/attempts/stream-response.ts'
import { route } from './routes.ts'
import type { StreamReader } from '../../lib/providers/provider.ts'

/** Returns the events of each read of a stream that arrives in these pieces. */
export async function readPieces<E extends { readonly type: string }> (
  pieces: readonly Buffer[],
  reader: StreamReader<E>
): Promise<E[][]> {
  const body = new BodyQueue({ pause: () => undefined, resume: () => undefined, cancel: () => undefined })
  const response = new StreamResponse<E>(body, { as: 'events', reader, json: () => [] }, {
    route: route('one/m'),
    jsonBytes: 100,
    eventBytes: 1_000_000,
    memory: new AnswerMemory(undefined),
    idleEventsMs: 60_000
  })
  const batches: E[][] = []
  const source = [...pieces, undefined].values()
  for (;;) {
    const reading = response.next()
    const piece = source.next().value
    if (piece === undefined) body.end()
    else body.push(piece)
    const events = await reading
    if (events === undefined) return batches
    batches.push(events)
  }
}

/** Cuts bytes at some places. */
export function cutAt (bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set([...places.map(place => place % bytes.length), bytes.length])].toSorted(
    (a, b) => a - b
  )
  return ends
    .map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
    .filter(({ length }) => length > 0)
}
