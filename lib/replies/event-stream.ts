import type { Reply } from '../core/reply.ts'

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no'
}
/** A comment without an empty line after it, which some clients take for an empty event. */
const keepAlive = { text: ': ping\n', everyMs: 15_000 }

/**
 * Makes a reply of the frames of an event stream.
 *
 * @param silence what to write after a while of it. Default: a comment
 */
export function eventStream (frames: AsyncIterable<string | Uint8Array>, silence?: () => string): Reply {
  return { status: 200, headers, body: frames, keepAlive: silence === undefined ? keepAlive : { ...keepAlive, text: silence } }
}
