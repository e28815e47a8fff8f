/** The input of audio: a text to speak, or a recording to transcribe or translate. */

import { GatewayError } from '../core/errors.ts'
import { audioFileName } from './audio-format.ts'
import type { UploadedFile } from '../core/upload.ts'
import { updateCall, type ValidCall } from '../core/call.ts'
import type { FormRequest } from '../validation/form.ts'
import type { ChunkingStrategy, TranscriptFormat, TranscriptionRequest } from '../../schemas/transcription.ts'
import type { TranslationRequest } from '../../schemas/translation.ts'
import type { SpeechRequest } from '../../schemas/speech.ts'

/** A speech request in common terms: `stream` is true or absent. */
export interface SpeechInput extends SpeechRequest {
  readonly stream: boolean
}

export function speechInput (call: ValidCall<SpeechRequest>): ValidCall<SpeechInput> {
  return updateCall(call, { request: { ...call.request, stream: call.request.stream_format === 'sse' } })
}

/** A recording, to be transcribed or translated. */
export interface RecordingInput {
  readonly task: 'transcribe' | 'translate'
  /** For the router; the name in the route is sent. */
  readonly model: readonly string[]
  /** Under a name whose extension shows the format. */
  readonly file: UploadedFile
  readonly format: TranscriptFormat
  readonly stream: boolean
  readonly language?: string
  readonly prompt?: string
  readonly temperature?: number
  readonly logprobs: boolean
  readonly granularities: ReadonlyArray<'word' | 'segment'>
  readonly chunking?: ChunkingStrategy
  readonly speakerNames?: readonly string[]
  /** Recordings of the speakers, as data URLs. */
  readonly speakerSamples?: readonly string[]
  readonly languages?: readonly string[]
  readonly keywords?: readonly string[]
}

type TranscriptionForm = FormRequest<TranscriptionRequest>

/**
 * @throws GatewayError `invalid_value` for granularities without a format that includes them;
 *   `unsupported_format` for a file that is not a recording
 */
export async function transcriptionInput (
  call: ValidCall<TranscriptionForm>
): Promise<ValidCall<RecordingInput>> {
  const { request } = call
  const { language, chunking_strategy: chunking, timestamp_granularities: granularities = [] } = request
  if (granularities.length > 0 && request.response_format !== 'verbose_json') {
    throw new GatewayError('invalid_value', {
      message: '`timestamp_granularities` requires `response_format` to be `verbose_json`.',
      param: 'timestamp_granularities'
    })
  }
  const input: RecordingInput = {
    ...await common(request),
    task: 'transcribe',
    stream: request.stream === true,
    logprobs: request.include?.includes('logprobs') === true,
    granularities,
    ...isGiven(language) && { language },
    ...chunking !== undefined && { chunking },
    ...hasItems(request.known_speaker_names) && { speakerNames: request.known_speaker_names },
    ...hasItems(request.known_speaker_references) && { speakerSamples: request.known_speaker_references },
    ...hasItems(request.languages) && { languages: request.languages },
    ...hasItems(request.keywords) && { keywords: request.keywords }
  }
  return updateCall(call, { request: input })
}

/** @throws GatewayError `unsupported_format` for a file that is not a recording */
export async function translationInput (
  call: ValidCall<FormRequest<TranslationRequest>>
): Promise<ValidCall<RecordingInput>> {
  const shared = await common(call.request)
  const input: RecordingInput = {
    ...shared, task: 'translate', stream: false, logprobs: false, granularities: []
  }
  return updateCall(call, { request: input })
}

async function common (
  { file, model, prompt, response_format: format = 'json', temperature }:
  Pick<TranscriptionForm, 'file' | 'model' | 'prompt' | 'response_format' | 'temperature'>
): Promise<Pick<RecordingInput, 'model' | 'file' | 'format' | 'prompt' | 'temperature'>> {
  return {
    model,
    file: { ...file, name: await audioFileName(file) },
    format,
    ...isGiven(prompt) && { prompt },
    ...temperature !== undefined && { temperature }
  }
}

function hasItems (list: readonly string[] | undefined): list is readonly string[] {
  return list !== undefined && list.length > 0
}

/** An empty field of a form was not filled in. */
function isGiven (text: string | undefined): text is string {
  return text !== undefined && text !== ''
}
