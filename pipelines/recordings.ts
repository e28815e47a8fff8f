/** Serves POST /v1/audio/transcriptions and /v1/audio/translations: a recording in, its words out. */

import { toTranscript, transcriptReply } from '../lib/audio/complete.ts'
import { transcriptionInput, translationInput, type RecordingInput } from '../lib/audio/input.ts'
import { chain } from '../lib/pipeline/chain.ts'
import { map, type Stage } from '../lib/pipeline/stage.ts'
import { estimateRecording } from '../lib/limits/estimate-units.ts'
import { streamOrJson } from '../lib/replies/answer-reply.ts'
import { asPlainTranscript, inspectTranscript } from '../lib/stages/audio/inspect-transcript.ts'
import { transcriptFrames } from '../lib/stages/audio/transcript-frames.ts'
import { auth } from '../lib/stages/auth.ts'
import { checkProviderUses } from '../lib/stages/check-provider-uses.ts'
import { dryRun } from '../lib/stages/dry-run.ts'
import { inspectRequest } from '../lib/stages/inspect-request.ts'
import { limits } from '../lib/stages/limits.ts'
import { namedGuards } from '../lib/stages/named-guards.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { formTextsAt } from '../lib/stages/texts-at.ts'
import { validateForm } from '../lib/stages/validate-form.ts'
import {
  TranscriptionAnswer,
  TranscriptionRequest,
  TranscriptionStreamEvent
} from '../schemas/transcription.ts'
import { TranslationAnswer, TranslationRequest } from '../schemas/translation.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { AuthedCall, Call, ValidCall } from '../lib/core/call.ts'
import type { Services } from '../lib/services.ts'
import { providerErrors, type Docs } from './docs.ts'
import { RouteDecision } from '../schemas/route-decision.ts'

const textDocs = [
  { description: 'With the format `text` or `srt`.', mediaType: 'text/plain' },
  { description: 'With the format `vtt`.', mediaType: 'text/vtt' }
]
const fromRecording = [
  'invalid_value',
  'unsupported_parameter',
  'unsupported_format',
  ...providerErrors
] as const

export const transcriptionDocs: Docs = {
  operationId: 'transcriptions',
  group: 'Audio',
  summary: 'Transcribe a recording.',
  request: { schema: TranscriptionRequest, mediaType: 'multipart/form-data' },
  answers: [
    {
      description: 'The text, with more about it when the format is `verbose_json`.',
      schema: TranscriptionAnswer
    },
    ...textDocs,
    {
      description: 'With `stream`, the text as it is transcribed.',
      mediaType: 'text/event-stream',
      schema: TranscriptionStreamEvent
    }
  ],
  errors: fromRecording,
  dryRun: RouteDecision
}

export const translationDocs: Docs = {
  operationId: 'translations',
  group: 'Audio',
  summary: 'Translate a recording into English text.',
  request: { schema: TranslationRequest, mediaType: 'multipart/form-data' },
  answers: [
    {
      description: 'The text, with more about it when the format is `verbose_json`.',
      schema: TranslationAnswer
    },
    ...textDocs
  ],
  errors: fromRecording,
  dryRun: RouteDecision
}

const validTranscription = validateForm(TranscriptionRequest)
const validTranslation = validateForm(TranslationRequest)

/** Serves POST /v1/audio/transcriptions: words in the spoken language. */
export function transcription (services: Services): Handler<Call> {
  return recording(
    services,
    'transcription',
    chain(validTranscription, namedGuards(services), map(transcriptionInput))
  )
}

/** Serves POST /v1/audio/translations: words in English. */
export function translation (services: Services): Handler<Call> {
  return recording(
    services,
    'translation',
    chain(validTranslation, namedGuards(services), map(translationInput))
  )
}

function recording (
  services: Services,
  capability: 'transcription' | 'translation',
  input: Stage<AuthedCall, ValidCall<RecordingInput>>
): Handler<Call> {
  const { textGuards } = services
  const texts = { ...formTextsAt<RecordingInput>([
      'prompt', 'language', 'speakerNames', 'languages', 'keywords'
    ]), asTextAnswer: asPlainTranscript }
  const answer = chain(providerCall(services, capability), recordUsage())
  return pipeline(
    auth(services),
    input,
    routeModel(services),
    dryRun(services, capability, { estimate: estimateRecording }),
    checkProviderUses(services, () => []),
    limits<RecordingInput>(services, { estimate: estimateRecording }),
    inspectRequest(textGuards, texts),
    inspectTranscript(textGuards, answer),
    streamOrJson({ streamed: transcriptFrames(), complete: toTranscript, write: transcriptReply })
  )
}
