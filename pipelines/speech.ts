/** POST /v1/audio/speech: a text in; sound out, as it is made. */

import { speechInput } from '../lib/audio/speech-input.ts'
import { map } from '../lib/core/stage.ts'
import { bytesReply } from '../lib/replies/bytes.ts'
import { speechFrames } from '../lib/stages/audio/speech-frames.ts'
import { auth } from '../lib/stages/auth.ts'
import { dryRun } from '../lib/stages/dry-run.ts'
import { limits } from '../lib/stages/limits.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { validate } from '../lib/stages/validate.ts'
import { SpeechRequest } from '../schemas/speech.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { Call } from '../lib/core/call.ts'
import type { Services } from '../lib/services.ts'

export function speech (services: Services): Handler<Call> {
  return pipeline(
    auth(services),
    validate(SpeechRequest),
    map(speechInput),
    routeModel(services),
    dryRun(services, 'speech'),
    limits(services),
    providerCall(services, 'speech'),
    recordUsage(),
    bytesReply(speechFrames())
  )
}
