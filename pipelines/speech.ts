/** POST /v1/audio/speech: a text in; sound out, as it is made. */

import { pipe } from 'it-pipe'
import { speechInput, type SpeechInput } from '../lib/audio/speech-input.ts'
import { bytesReply } from '../lib/replies/bytes.ts'
import { once, map } from '../lib/core/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { dryRun, dryRunReply } from '../lib/stages/dry-run.ts'
import { limits } from '../lib/stages/limits.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { speechFrames } from '../lib/stages/audio/speech-frames.ts'
import { validate } from '../lib/stages/validate.ts'
import { SpeechRequest } from '../schemas/speech.ts'
import type { Call, RoutedCall } from '../lib/core/call.ts'
import type { SpeechEvent } from '../lib/core/events.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'

export function speech (services: Services): (call: Call) => Promise<Reply> {
  const { keys, models, providers } = services
  const stages = [
    auth(keys),
    validate(SpeechRequest),
    map(speechInput),
    routeModel<SpeechInput>(models, providers),
    dryRun<RoutedCall<SpeechInput>>(services, 'speech'),
    limits<RoutedCall<SpeechInput>>(services),
    providerCall(services, 'speech'),
    recordUsage<SpeechInput, SpeechEvent>()
  ] as const
  const reply = bytesReply(speechFrames<SpeechInput>())
  return async call => await pipe(once(call), ...stages, reply).catch(dryRunReply)
}
