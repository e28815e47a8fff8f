/** Transcripts in the formats of providers: text, JSON, or events. */

import { inBandError } from '../chat-completions/errors.ts'
import { ProviderFailure, invalidResponse, webPageError } from '../provider-failure.ts'
import { typedStream } from './typed-stream.ts'
import { countOf, numberOf, objectOf, objectsOf } from '../../json/type-guards.ts'
import { maxCount } from '../../core/usage.ts'
import type { Transcript, TranscriptEvent } from '../../core/events.ts'
import type {
  DiarizedSegment, TokenLogprob, TranscriptFormat, TranscriptionUsage, TranscriptSegment, TranscriptWord
} from '../../../schemas/transcription.ts'
import type { StreamReader } from '../provider.ts'

/**
 * Reads a plain-text transcript. The content type is ignored: some servers label all text as HTML.
 *
 * @param format requested from the provider
 * @throws GatewayError `upstream_invalid_response` for an HTML page
 */
export function readTranscriptText (text: string, format: TranscriptFormat): TranscriptEvent[] {
  if (/^\s*<(?:!doctype|html)\b/i.test(text)) throw webPageError()
  const written = format === 'srt' || format === 'vtt' ? { written: format } : {}
  return [{ type: 'transcript-end', transcript: { text, ...written } }]
}

/**
 * Reads a JSON transcript.
 *
 * @throws ProviderFailure for an error in it
 * @throws GatewayError `upstream_invalid_response` if the text is missing
 */
export function readTranscript (body: unknown): TranscriptEvent[] {
  const response = objectOf(body) ?? {}
  const failure = inBandError(response, false)
  if (failure !== undefined) throw new ProviderFailure(failure)
  if (typeof response['text'] !== 'string') throw invalidResponse('the response has no text')
  return [{ type: 'transcript-end', transcript: transcriptOf(response, response['text']) }]
}

/** Reads deltas as they come, and the transcript once, from the last message. */
export function readTranscriptStream (): StreamReader<TranscriptEvent> {
  let turns = 0
  return typedStream<TranscriptEvent>((message, into) => {
    const { type, delta, text } = message
    if (type === 'transcript.text.delta' && typeof delta === 'string') {
      const { segment_id: id } = message
      const logprobs = logprobsOf(message['logprobs'])
      into.push({
        type: 'transcript-delta',
        text: delta,
        ...logprobs !== undefined && { logprobs },
        ...typeof id === 'string' && { segmentId: id }
      })
    } else if (type === 'transcript.text.segment') {
      into.push({ type: 'transcript-turn', turn: turnOf(message, turns++) })
    } else if (type === 'transcript.text.done' && typeof text === 'string') {
      into.push({ type: 'transcript-end', transcript: transcriptOf(message, text) })
    }
  }, ({ type, text }) => type === 'transcript.text.done' && typeof text === 'string')
}

function transcriptOf (answer: Record<string, unknown>, text: string): Transcript {
  const { language } = answer
  const segments = rowsOf(answer['segments'])
  const hasSpeakers = segments?.some(({ speaker }) => typeof speaker === 'string') === true
  const found = {
    durationSeconds: numberOf(answer['duration']),
    words: rowsOf(answer['words'])?.map(wordOf),
    segments: hasSpeakers ? undefined : segments?.map(segmentOf),
    turns: hasSpeakers ? segments?.map(turnOf) : undefined,
    languages: rowsOf(answer['languages'])?.flatMap(({ code }) => typeof code === 'string' ? [{ code }] : []),
    logprobs: logprobsOf(answer['logprobs']),
    usage: readTranscriptionUsage(answer['usage'])
  }
  return {
    text,
    ...typeof language === 'string' && { language },
    ...found.durationSeconds !== undefined && { durationSeconds: found.durationSeconds },
    ...found.words !== undefined && { words: found.words },
    ...found.segments !== undefined && { segments: found.segments },
    ...found.turns !== undefined && { turns: found.turns },
    ...found.languages !== undefined && { languages: found.languages },
    ...found.logprobs !== undefined && { logprobs: found.logprobs },
    ...found.usage !== undefined && { usage: found.usage }
  }
}

function wordOf ({ word, start, end }: Record<string, unknown>): TranscriptWord {
  return { word: typeof word === 'string' ? word : '', start: numberOf(start) ?? 0, end: numberOf(end) ?? 0 }
}

/** Callers are promised every field; some servers omit some. */
function segmentOf (segment: Record<string, unknown>, index: number): TranscriptSegment {
  const { tokens, text } = segment
  const number = (name: keyof TranscriptSegment, otherwise = 0): number =>
    numberOf(segment[name]) ?? otherwise
  return {
    id: number('id', index),
    seek: number('seek'),
    start: number('start'),
    end: number('end'),
    text: typeof text === 'string' ? text : '',
    tokens: Array.isArray(tokens) ? tokens.filter(token => typeof token === 'number') : [],
    temperature: number('temperature'),
    avg_logprob: number('avg_logprob'),
    compression_ratio: number('compression_ratio'),
    no_speech_prob: number('no_speech_prob')
  }
}

function turnOf ({ id, start, end, text, speaker }: Record<string, unknown>, index: number): DiarizedSegment {
  return {
    type: 'transcript.text.segment',
    id: typeof id === 'string' ? id : `seg_${index}`,
    start: numberOf(start) ?? 0,
    end: numberOf(end) ?? 0,
    text: typeof text === 'string' ? text : '',
    speaker: typeof speaker === 'string' ? speaker : ''
  }
}

function logprobsOf (value: unknown): TokenLogprob[] | undefined {
  return rowsOf(value)?.map(({ token, logprob, bytes }) => ({
    token: typeof token === 'string' ? token : '',
    logprob: numberOf(logprob) ?? 0,
    bytes: Array.isArray(bytes) ? bytes.filter(byte => typeof byte === 'number') : []
  }))
}

function readTranscriptionUsage (value: unknown): TranscriptionUsage | undefined {
  const usage = objectOf(value)
  const seconds = numberOf(usage?.['seconds'])
  if (seconds !== undefined) {
    return seconds >= 0 && seconds <= maxCount ? { type: 'duration', seconds } : undefined
  }
  const input = countOf(usage?.['input_tokens'])
  const output = countOf(usage?.['output_tokens'])
  if (input === undefined || output === undefined || input > maxCount || output > maxCount) return undefined
  if (input + output === 0) return undefined // as `possibleUsage`
  const total = countOf(usage?.['total_tokens']) ?? input + output
  const details = objectOf(usage?.['input_token_details'])
  const [text, audio] = [details?.['text_tokens'], details?.['audio_tokens']].map(countOf)
  return {
    type: 'tokens',
    input_tokens: input,
    ...details !== undefined && {
      input_token_details: {
        ...text !== undefined && { text_tokens: text },
        ...audio !== undefined && { audio_tokens: audio }
      }
    },
    output_tokens: output,
    total_tokens: total <= maxCount ? total : input + output
  }
}

/** Returns the objects of a list; `undefined` without a list, which differs from an empty one. */
function rowsOf (value: unknown): ReadonlyArray<Record<string, unknown>> | undefined {
  return Array.isArray(value) ? objectsOf(value) : undefined
}
