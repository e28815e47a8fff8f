/**
 * `POST /audio/transcriptions` and `/audio/translations`: a form there; JSON, a text or events
 * back.
 *
 * A format the model does not write is requested in one from which the gateway can write it.
 *
 * @see https://platform.openai.com/docs/api-reference/audio/createTranscription
 */

import { GatewayError } from '../../core/errors.ts'
import { multipartBody, type FormPart } from '../../wire/multipart.ts'
import { readError } from '../chat-completions/errors.ts'
import { jsonOrSse } from '../json-response.ts'
import { transcriptionTraits, type TranscriptionTraits } from './transcription-traits.ts'
import { readTranscript, readTranscriptStream, readTranscriptText } from './transcription-response.ts'
import { contentTypeOf } from './wire.ts'
import type { RecordingInput } from '../../audio/input.ts'
import type { TranscriptEvent } from '../../core/events.ts'
import type { TranscriptFormat } from '../../../schemas/transcription.ts'
import type { Adapter, Ask, UpstreamHead, UpstreamRequest } from '../provider.ts'

export const openaiTranscription: Adapter<RecordingInput, TranscriptEvent> = {
  request: ask => formRequest('/audio/transcriptions', ask),
  read: (head, ask) => isText(head, ask)
    ? { as: 'text', read: text => readTranscriptText(text, formatFor(ask)) }
    : jsonOrSse(ask, readTranscript, readTranscriptStream),
  error: readError
}

export const openaiTranslation: Adapter<RecordingInput, TranscriptEvent> = {
  ...openaiTranscription,
  request: ask => {
    if (!transcriptionTraits(ask.route).translation) throw unsupported(ask, 'model', 'translate')
    return formRequest('/audio/translations', ask)
  }
}

function formRequest (path: string, ask: Ask<RecordingInput>): UpstreamRequest {
  const { request, route } = ask
  const model = transcriptionTraits(route)
  checkSupport(ask, model)
  const { file, language, prompt, temperature, chunking } = request
  const parts: FormPart[] = [{ name: 'model', value: route.model }, { name: 'response_format', value: formatFor(ask) }]
  const add = (name: string, value: string | number | undefined): void => {
    if (value !== undefined) parts.push({ name, value: String(value) })
  }
  add('language', language)
  add('prompt', prompt)
  add('temperature', temperature)
  if (request.logprobs) add('include[]', 'logprobs')
  for (const granularity of request.granularities) add('timestamp_granularities[]', granularity)
  if (chunking !== undefined) add('chunking_strategy', typeof chunking === 'string' ? chunking : JSON.stringify(chunking))
  if (request.stream && model.streaming) add('stream', 'true')
  // Last, so that a server that reads as it goes knows what to do with it.
  parts.push({ name: 'file', fileName: file.name, mediaType: file.mediaType, sizeBytes: file.sizeBytes, open: file.open })
  const { headers, open } = multipartBody(parts)
  return { method: 'POST', path, headers, body: open }
}

/** Refuses what the model would refuse or, worse, leave out silently. */
function checkSupport (ask: Ask<RecordingInput>, model: TranscriptionTraits): void {
  const { logprobs, format, chunking, prompt } = ask.request
  if (logprobs && !model.logprobs) throw unsupported(ask, 'include', 'give log probabilities')
  if (logprobs && format !== 'json') throw unsupported(ask, 'include', `put log probabilities into ${format}`)
  if (chunking !== undefined && !model.chunking) throw unsupported(ask, 'chunking_strategy', 'take a chunking strategy')
  if (prompt !== undefined && !model.prompt) throw unsupported(ask, 'prompt', 'take a prompt')
}

/**
 * Returns the format to ask this model for.
 *
 * @throws GatewayError `unsupported_parameter` when no format it writes holds what was requested
 */
function formatFor (ask: Ask<RecordingInput>): TranscriptFormat {
  const { format } = ask.request
  const { formats } = transcriptionTraits(ask.route)
  if (formats.includes(format)) return format
  const source = sources[format]
  if (source !== undefined && formats.includes(source)) return source
  throw unsupported(ask, 'response_format', `write the format ${format}`)
}

/** Formats that are written out of another. */
const sources: Readonly<Partial<Record<TranscriptFormat, TranscriptFormat>>> = {
  text: 'json', srt: 'verbose_json', vtt: 'verbose_json'
}

/** Texts are never parsed, whatever they look like; servers that know JSON only say that it is. */
function isText (head: UpstreamHead, ask: Ask<RecordingInput>): boolean {
  const format = formatFor(ask)
  return (format === 'text' || format === 'srt' || format === 'vtt') && !/json|event-stream/.test(contentTypeOf(head))
}

function unsupported ({ route }: Ask<RecordingInput>, param: string, what: string): GatewayError {
  return new GatewayError('unsupported_parameter', { message: `The model \`${route.modelId}\` cannot ${what}.`, param })
}
