/**
 * `POST /audio/speech`: a JSON request; the answer is audio, or events with pieces of it.
 *
 * @see https://platform.openai.com/docs/api-reference/audio/createSpeech
 */

import { inBandError, readError } from '../chat-completions/errors.ts'
import { countOf, objectOf } from '../../json/type-guards.ts'
import { possibleUsage } from '../../core/usage.ts'
import { throwFailure } from '../provider-failure.ts'
import { jsonOrSse } from '../json-api.ts'
import { typedStream } from './typed-stream.ts'
import { contentTypeOf } from './wire.ts'
import type { SpeechInput } from '../../audio/input.ts'
import type { SpeechEvent } from '../../core/events.ts'
import type { SpeechFormat } from '../../../schemas/speech.ts'
import type {
  Adapter,
  AdapterInput,
  BodyFormat,
  StreamReader,
  UpstreamHead,
  UpstreamRequest
} from '../provider.ts'

export const openaiSpeech: Adapter<SpeechInput, SpeechEvent> = {
  request: speechRequest,
  read: readAudio,
  error: readError
}

const mediaTypes: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm'
}

function speechRequest ({ request, route }: AdapterInput<SpeechInput>): UpstreamRequest {
  const { input, voice, instructions, response_format, speed, stream } = request
  const { instructions: takesInstructions = true, eventStream: sendsEvents = true } =
    route.traits?.speech ?? {}
  return {
    method: 'POST',
    path: '/audio/speech',
    headers: { 'content-type': 'application/json' },
    // JSON omits undefined fields.
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

const readText = jsonOrSse(refuseJson, readStream)

/** Reads the body as audio unless its content type, or its beginning, says otherwise. */
function readAudio (head: UpstreamHead, adapterInput: AdapterInput<SpeechInput>): BodyFormat<SpeechEvent> {
  const contentType = contentTypeOf(head)
  const text = readText(head, adapterInput)
  if (/json|xml|^text\//.test(contentType)) return text
  // With its parameters: raw sound cannot be played without its sample rate.
  const mediaType = contentType.startsWith('audio/')
    ? String(head.headers['content-type'])
    : mediaTypes[adapterInput.request.response_format ?? 'mp3']
  let started = false
  return {
    as: 'pieces',
    text,
    read: (bytes, into) => {
      if (!started) into.push({ type: 'audio-start', mediaType })
      started = true
      into.push({ type: 'audio-chunk', bytes })
    }
  }
}

/** Rejects JSON with status 200: an error, or at least no audio. */
function refuseJson (body: unknown): never {
  throwFailure(inBandError(objectOf(body) ?? {}, false), 'the response has no audio')
}

function readStream (): StreamReader<SpeechEvent> {
  let hasSound = false
  return typedStream<SpeechEvent>(({ type, audio, usage }, into) => {
    if (type === 'speech.audio.delta' && typeof audio === 'string') {
      hasSound ||= audio !== ''
      into.push({ type: 'speech-delta', audio })
    } else if (type === 'speech.audio.done') addUsage(usage, into)
  }, ({ type }) => type === 'speech.audio.done' && hasSound)
}

function addUsage (value: unknown, into: SpeechEvent[]): void {
  const {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: total
  } = objectOf(value) ?? {}
  const input = countOf(inputTokens)
  const output = countOf(outputTokens)
  if (input === undefined || output === undefined) return
  const totalTokens = countOf(total) ?? input + output
  const reported = possibleUsage({
    promptTokens: input, completionTokens: output, totalTokens, completionAudioTokens: output
  })
  if (reported !== undefined) into.push({ type: 'usage', usage: reported })
}
