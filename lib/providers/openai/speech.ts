/**
 * `POST /audio/speech`: JSON there; sound back, or events that hold pieces of it.
 *
 * @see https://platform.openai.com/docs/api-reference/audio/createSpeech
 */

import { GatewayError } from '../../core/errors.ts'
import { inBandError, readError } from '../chat-completions/errors.ts'
import { objectOf } from '../../json/guards.ts'
import { typedStream } from './typed-stream.ts'
import { contentTypeOf } from './wire.ts'
import type { SpeechInput } from '../../audio/speech-input.ts'
import type { SpeechEvent } from '../../core/events.ts'
import type { SpeechFormat } from '../../../schemas/speech.ts'
import type { Adapter, Ask, StreamReader, UpstreamHead, UpstreamRequest } from '../provider.ts'

export const openaiSpeech: Adapter<SpeechInput, SpeechEvent> = {
  request: speechRequest,
  bytes: readSound,
  response: refuseJson,
  stream: readStream,
  error: readError
}

const mediaTypes: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'audio/mpeg', opus: 'audio/opus', aac: 'audio/aac', flac: 'audio/flac', wav: 'audio/wav', pcm: 'audio/pcm'
}

function speechRequest ({ request, route }: Ask<SpeechInput>): UpstreamRequest {
  const { input, voice, instructions, response_format, speed, stream } = request
  const { instructions: takesInstructions = true, eventStream: sendsEvents = true } = route.traits?.speech ?? {}
  return {
    method: 'POST',
    path: '/audio/speech',
    headers: { 'content-type': 'application/json' },
    // What is undefined does not show in JSON.
    body: JSON.stringify({
      model: route.model,
      input,
      voice,
      instructions: takesInstructions ? instructions : undefined,
      response_format,
      speed,
      stream_format: stream && sendsEvents ? 'sse' : undefined
    })
  }
}

/** Everything is sound that does not say it is something else. */
function readSound (head: UpstreamHead, { request }: Ask<SpeechInput>): ((bytes: Uint8Array) => SpeechEvent[]) | undefined {
  const contentType = contentTypeOf(head)
  if (/json|^text\//.test(contentType)) return undefined
  const mediaType = contentType.startsWith('audio/') ? contentType : mediaTypes[request.response_format ?? 'mp3']
  let started = false
  return bytes => {
    if (started) return [{ type: 'audio-chunk', bytes }]
    started = true
    return [{ type: 'audio-start', mediaType }, { type: 'audio-chunk', bytes }]
  }
}

/** JSON with a good status: an error all the same, or nothing anybody could hear. */
function refuseJson (body: unknown): never {
  throw inBandError(objectOf(body) ?? {}, false) ?? new GatewayError('upstream_invalid_response', { cause: 'no sound' })
}

function readStream (): StreamReader<SpeechEvent> {
  return typedStream<SpeechEvent>(({ type, audio, usage }) => {
    if (type === 'speech.audio.delta' && typeof audio === 'string') return [{ type: 'speech-delta', audio }]
    return type === 'speech.audio.done' ? usageOf(usage) : []
  }, ({ type }) => type === 'speech.audio.done')
}

function usageOf (value: unknown): SpeechEvent[] {
  const { input_tokens: input, output_tokens: output, total_tokens: total } = objectOf(value) ?? {}
  if (typeof input !== 'number' || typeof output !== 'number') return []
  const totalTokens = typeof total === 'number' ? total : input + output
  return [{ type: 'usage', usage: { promptTokens: input, completionTokens: output, totalTokens } }]
}
