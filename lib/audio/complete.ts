/** What the batches of a transcript come to, for the answer and for the books. */

import { GatewayError } from '../core/errors.ts'
import { writeTranscript, type WrittenTranscript } from './transcript.ts'
import type { Batch } from '../core/batch.ts'
import type { TranscriptEvent } from '../core/events.ts'
import type { Reply } from '../core/reply.ts'
import type { RecordingInput } from './recording-input.ts'

type TranscriptBatch = Batch<RecordingInput, TranscriptEvent>

/** @throws GatewayError `upstream_invalid_response` when the transcript was never ended */
export function toTranscript (batches: readonly TranscriptBatch[]): WrittenTranscript {
  for (const { call, events } of batches) {
    for (const event of events) {
      if (event.type === 'transcript-end') return writeTranscript(event.transcript, call.request)
    }
  }
  throw new GatewayError('upstream_invalid_response', { cause: 'no transcript' })
}

/** JSON, a text or subtitles: each under its own media type. */
export function transcriptReply ({ mediaType, text }: WrittenTranscript): Reply {
  return { status: 200, headers: { 'content-type': mediaType }, body: text }
}

/** Notes what was used: tokens, seconds, whichever the provider counts. */
export function noteTranscript (batch: TranscriptBatch): TranscriptBatch {
  const { record } = batch.call
  for (const event of batch.events) {
    if (event.type !== 'transcript-end') continue
    const { usage, durationSeconds } = event.transcript
    const seconds = usage?.type === 'duration' ? usage.seconds : durationSeconds
    if (seconds !== undefined) record.audioSeconds = seconds
    if (usage?.type !== 'tokens') continue
    const { audio_tokens: audio } = usage.input_token_details ?? {}
    record.usage = {
      promptTokens: usage.input_tokens,
      completionTokens: usage.output_tokens,
      totalTokens: usage.total_tokens,
      ...audio !== undefined && { promptAudioTokens: audio }
    }
  }
  return batch
}
