/** Serves POST /v1/audio/speech: a text in, sound out as it is generated. */

import { speechInput, type SpeechInput } from '../lib/audio/input.ts'
import { speechRequestTexts } from '../lib/audio/text-places.ts'
import { map } from '../lib/pipeline/stage.ts'
import { estimateSpeech } from '../lib/limits/estimate-units.ts'
import { bytesReply } from '../lib/replies/bytes.ts'
import { speechFrames } from '../lib/stages/audio/speech-frames.ts'
import { auth } from '../lib/stages/auth.ts'
import { checkProviderUses } from '../lib/stages/check-provider-uses.ts'
import { dryRun } from '../lib/stages/dry-run.ts'
import { inspectRequest } from '../lib/stages/inspect-request.ts'
import { limits } from '../lib/stages/limits.ts'
import { namedGuards } from '../lib/stages/named-guards.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { textsAt } from '../lib/stages/texts-at.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { SpeechRequest, SpeechStreamEvent } from '../schemas/speech.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { Call } from '../lib/core/call.ts'
import type { ProviderUse } from '../lib/core/provider-use.ts'
import type { Services } from '../lib/services.ts'
import { providerErrors, type Docs } from './docs.ts'
import { RouteDecision } from '../schemas/route-decision.ts'

export const speechDocs: Docs = {
  operationId: 'speech',
  group: 'Audio',
  summary: 'Convert text to speech.',
  request: { schema: SpeechRequest },
  answers: [
    { description: 'The audio, as it is generated.', mediaType: 'audio/*' },
    {
      description: 'With `stream_format: sse`, the audio in pieces.',
      mediaType: 'text/event-stream',
      schema: SpeechStreamEvent
    }
  ],
  named: { SpeechRequest, SpeechStreamEvent },
  errors: ['unsupported_parameter', ...providerErrors],
  dryRun: RouteDecision
}

const validSpeech = validate(SpeechRequest)

export function speech (services: Services): Handler<Call> {
  return pipeline(
    auth(services),
    validSpeech,
    namedGuards(services),
    map(speechInput),
    routeModel(services),
    dryRun(services, 'speech', { estimate: estimateSpeech }),
    checkProviderUses(services, usesOf),
    limits<SpeechInput>(services, { estimate: estimateSpeech }),
    inspectRequest(services.textGuards, textsAt<SpeechInput>(speechRequestTexts)),
    providerCall(services, 'speech'),
    recordUsage(),
    bytesReply(speechFrames())
  )
}

function usesOf ({ voice }: SpeechInput): ProviderUse[] {
  return typeof voice === 'object' || voice.startsWith('voice_') ? [{ kind: 'object', param: 'voice' }] : []
}
