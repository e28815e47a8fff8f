/** Builds the answer from the batches of a transcript. */

import { GatewayError } from '../core/errors.ts'
import { writeTranscript, type WrittenTranscript } from './transcript.ts'
import type { Batch } from '../core/call.ts'
import type { TranscriptEvent } from '../core/events.ts'
import type { Reply } from '../core/reply.ts'
import type { RecordingInput } from './input.ts'

type TranscriptBatch = Batch<RecordingInput, TranscriptEvent>

/** @throws GatewayError `upstream_invalid_response` if the transcript has no end */
export function toTranscript (batches: readonly TranscriptBatch[]): WrittenTranscript {
  for (const { call, events } of batches) {
    for (const event of events) {
      if (event.type === 'transcript-end') return writeTranscript(event.transcript, call.request)
    }
  }
  throw new GatewayError('upstream_invalid_response', { cause: 'the response has no transcript' })
}

/** Prints JSON, a text or subtitles, each with its media type. */
export function transcriptReply ({ mediaType, text }: WrittenTranscript): Reply {
  return { status: 200, headers: { 'content-type': mediaType }, body: text }
}
