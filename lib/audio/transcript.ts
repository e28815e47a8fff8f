/** A transcript, and the forms in which callers get it. */

import { GatewayError } from '../core/errors.ts'
import { srt, vtt } from './subtitles.ts'
import type {
  DiarizedTranscription, TranscriptFormat, Transcription, VerboseTranscription
} from '../../schemas/transcription.ts'
import type { Transcript } from '../core/events.ts'
import type { RecordingInput } from './input.ts'
import { jsonReplyHeaders } from '../core/reply.ts'

/** A complete answer. */
export interface WrittenTranscript {
  readonly mediaType: string
  readonly text: string
}

const mediaTypes: Readonly<Record<TranscriptFormat, string>> = {
  json: jsonReplyHeaders['content-type'],
  verbose_json: jsonReplyHeaders['content-type'],
  diarized_json: jsonReplyHeaders['content-type'],
  text: 'text/plain; charset=utf-8',
  srt: 'text/plain; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8'
}

/**
 * Returns the transcript in the requested form.
 *
 * @throws GatewayError `upstream_invalid_response` for subtitles of a transcript without times
 */
export function writeTranscript (transcript: Transcript, recording: RecordingInput): WrittenTranscript {
  const { format } = recording
  return { mediaType: mediaTypes[format], text: printTranscript(transcript, recording) }
}

function printTranscript (transcript: Transcript, recording: RecordingInput): string {
  const { text, segments, written } = transcript
  const { format } = recording
  if (written !== undefined && written === format) return text
  switch (format) {
    case 'text': return text.endsWith('\n') ? text : `${text}\n`
    case 'json': return JSON.stringify(plain(transcript, recording))
    case 'verbose_json': return JSON.stringify(verbose(transcript, recording))
    case 'diarized_json': return JSON.stringify(diarized(transcript))
    case 'srt':
    case 'vtt':
      if (segments === undefined) {
        throw new GatewayError('upstream_invalid_response', { cause: 'the transcript has no segments' })
      }
      return format === 'srt' ? srt(segments) : vtt(segments)
  }
}

/** Has no segments if a guard replaced something that spans several: nothing then says who spoke it. */
function diarized ({ text, durationSeconds, turns = [], usage }: Transcript): DiarizedTranscription {
  return {
    task: 'transcribe',
    duration: durationSeconds ?? turns.at(-1)?.end ?? 0,
    text,
    segments: [...turns],
    ...usage !== undefined && { usage }
  }
}

function plain ({ text, languages, logprobs, usage }: Transcript, { task }: RecordingInput): Transcription {
  if (task === 'translate') return { text }
  return {
    text,
    ...languages !== undefined && { languages: [...languages] },
    ...logprobs !== undefined && { logprobs: [...logprobs] },
    ...usage !== undefined && { usage }
  }
}

function verbose (transcript: Transcript, recording: RecordingInput): VerboseTranscription {
  const { text, words, segments, usage } = transcript
  const { task, granularities } = recording
  const wantsWords = granularities.includes('word')
  const wantsSegments = !wantsWords || granularities.includes('segment')
  return {
    language: transcript.language ?? (task === 'translate' ? 'english' : recording.language ?? ''),
    duration: transcript.durationSeconds ?? segments?.at(-1)?.end ?? 0,
    text,
    ...wantsWords && words !== undefined && { words: [...words] },
    ...wantsSegments && segments !== undefined && { segments: [...segments] },
    ...task === 'transcribe' && usage !== undefined && { usage }
  }
}
