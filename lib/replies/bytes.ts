/** Ends a pipeline that answers with audio, or with a stream of pieces of it. */

import { GatewayError } from '../core/errors.ts'
import { eventStream } from './answer-reply.ts'
import type { Batch } from '../core/call.ts'
import type { SpeechEvent } from '../core/events.ts'
import type { Reply } from '../core/reply.ts'
import type { Frames } from '../wire/sse-frames.ts'
import { peek } from '../pipeline/sources.ts'
import type { Sink, Stage } from '../pipeline/stage.ts'

type SpeechBatch = Batch<{ readonly stream?: boolean }, SpeechEvent>

/**
 * Waits for the first batch, which decides the form. Bytes go out as received, read by read, under the media
 * type of `audio-start`; anything else becomes an event stream. When the provider breaks off, the body throws
 * and the connection is cut, since truncated audio must not pass for a complete recording.
 *
 * @param streamed prints batches as an event stream, for callers who requested one
 * @throws GatewayError `upstream_invalid_response` for events where audio was requested
 */
export function bytesReply (streamed: Stage<SpeechBatch, Frames>): Sink<SpeechBatch, Reply> {
  return async source => {
    const { first, all } = await peek(source)
    const start = first.events.find(event => event.type === 'audio-start')
    if (start !== undefined) {
      return { status: 200, headers: { 'content-type': start.mediaType }, body: bytesOf(all) }
    }
    if (first.call.request.stream === true) return eventStream(streamed(all))
    throw new GatewayError('upstream_invalid_response', { cause: 'expected audio bytes, not events' })
  }
}

async function * bytesOf (source: AsyncIterable<SpeechBatch>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { events } of source) {
    for (const event of events) {
      if (event.type === 'audio-chunk') yield event.bytes
    }
  }
}
