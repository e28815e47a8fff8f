/**
 * `POST /audio/transcriptions` and `/audio/translations`: the request is a form, the answer JSON, text or
 * events.
 *
 * Texts and subtitles are requested as JSON where the model writes it, and made here: a transcript that is
 * only text has neither its usage nor its length, and guards would not find what continues in the next
 * subtitle.
 *
 * @see https://platform.openai.com/docs/api-reference/audio/createTranscription
 */

import { GatewayError } from '../../core/errors.ts'
import { multipartBody, type FormPart } from '../../wire/multipart.ts'
import { readError } from '../chat-completions/errors.ts'
import { jsonOrSse } from '../json-api.ts'
import { transcriptionTraits, type TranscriptionTraits } from './transcription-traits.ts'
import { readTranscript, readTranscriptStream, readTranscriptText } from './transcription-response.ts'
import { contentTypeOf } from './wire.ts'
import type { RecordingInput } from '../../audio/input.ts'
import type { TranscriptEvent } from '../../core/events.ts'
import type { TranscriptFormat } from '../../../schemas/transcription.ts'
import type { Adapter, AdapterInput, UpstreamHead, UpstreamRequest } from '../provider.ts'

const readJson = jsonOrSse(readTranscript, readTranscriptStream)

export const openaiTranscription: Adapter<RecordingInput, TranscriptEvent> = {
  request: input => formRequest('/audio/transcriptions', input),
  read: (head, input) => isText(head, input)
    ? { as: 'text', read: text => readTranscriptText(text, formatFor(input)) }
    : readJson(head, input),
  error: readError
}

export const openaiTranslation: Adapter<RecordingInput, TranscriptEvent> = {
  ...openaiTranscription,
  request: input => {
    if (!transcriptionTraits(input.route).translation) throw unsupported(input, 'model', 'translate')
    return formRequest('/audio/translations', input)
  }
}

function formRequest (path: string, input: AdapterInput<RecordingInput>): UpstreamRequest {
  const { request, route } = input
  const model = transcriptionTraits(route)
  checkSupport(input, model)
  const { file, language, prompt, temperature, chunking } = request
  const parts: FormPart[] = [
    { name: 'model', value: route.model },
    { name: 'response_format', value: formatFor(input) }
  ]
  const add = (name: string, value: string | number | undefined): void => {
    if (value !== undefined) parts.push({ name, value: String(value) })
  }
  add('language', language)
  add('prompt', prompt)
  add('temperature', temperature)
  if (request.logprobs) add('include[]', 'logprobs')
  for (const granularity of request.granularities) add('timestamp_granularities[]', granularity)
  for (const name of request.speakerNames ?? []) add('known_speaker_names[]', name)
  for (const sample of request.speakerSamples ?? []) add('known_speaker_references[]', sample)
  for (const code of request.languages ?? []) add('languages[]', code)
  for (const keyword of request.keywords ?? []) add('keywords[]', keyword)
  if (chunking !== undefined) {
    add('chunking_strategy', typeof chunking === 'string' ? chunking : JSON.stringify(chunking))
  }
  if (request.stream && model.streaming) add('stream', 'true')
  // The file comes last, so that a streaming server knows the parameters first.
  parts.push({
    name: 'file',
    fileName: file.name,
    mediaType: file.mediaType,
    sizeBytes: file.sizeBytes,
    open: file.open
  })
  const { headers, open } = multipartBody(parts)
  return { method: 'POST', path, headers, body: open }
}

/** Rejects what the model would reject or, worse, silently ignore. */
function checkSupport (input: AdapterInput<RecordingInput>, model: TranscriptionTraits): void {
  const {
    logprobs, format, chunking, prompt, speakerNames, speakerSamples, languages, keywords
  } = input.request
  if (logprobs && !model.logprobs) throw unsupported(input, 'include', 'give log probabilities')
  if (logprobs && format !== 'json') {
    throw unsupported(input, 'include', `put log probabilities into ${format}`)
  }
  if (chunking !== undefined && !model.chunking) {
    throw unsupported(input, 'chunking_strategy', 'take a chunking strategy')
  }
  if (!model.speakers && (speakerNames ?? speakerSamples) !== undefined) {
    const param = speakerNames === undefined ? 'known_speaker_references' : 'known_speaker_names'
    throw unsupported(input, param, 'tell speakers apart')
  }
  if (!model.keywords && languages !== undefined) {
    throw unsupported(input, 'languages', 'take several languages')
  }
  if (!model.keywords && keywords !== undefined) throw unsupported(input, 'keywords', 'take keywords')
  if (prompt !== undefined && !model.prompt) throw unsupported(input, 'prompt', 'take a prompt')
}

/**
 * Returns the format to request from this model.
 *
 * @throws GatewayError `unsupported_parameter` if no format of the model contains what was requested
 */
function formatFor (input: AdapterInput<RecordingInput>): TranscriptFormat {
  const { format } = input.request
  const { formats } = transcriptionTraits(input.route)
  const source = sources[format]
  if (source !== undefined && formats.includes(source)) return source
  if (formats.includes(format)) return format
  throw unsupported(input, 'response_format', `write the format ${format}`)
}

/** Formats that can be derived from another one, which says more. */
const sources: Readonly<Partial<Record<TranscriptFormat, TranscriptFormat>>> = {
  text: 'json', srt: 'verbose_json', vtt: 'verbose_json'
}

/** Text formats are never parsed, whatever they look like; servers that only support JSON declare JSON. */
function isText (head: UpstreamHead, input: AdapterInput<RecordingInput>): boolean {
  const format = formatFor(input)
  return (
    (format === 'text' || format === 'srt' || format === 'vtt') &&
    !/json|event-stream/.test(contentTypeOf(head))
  )
}

function unsupported ({ route }: AdapterInput<RecordingInput>, param: string, action: string): GatewayError {
  return new GatewayError('unsupported_parameter', {
    message: `The model \`${route.modelId}\` cannot ${action}.`,
    param
  })
}
