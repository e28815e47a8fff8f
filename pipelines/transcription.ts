/** POST /v1/audio/transcriptions: a recording in; what was said out, in its own language. */

import { pipe } from 'it-pipe'
import { readTranscription, type Recording } from '../lib/audio/recording-input.ts'
import { noteTranscript, transcriptReply, wholeTranscript } from '../lib/audio/complete.ts'
import { streamOrWhole } from '../lib/replies/stream-or-json.ts'
import { once, perCall } from '../lib/core/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { dryRun, dryRunReply } from '../lib/stages/dry-run.ts'
import { limits } from '../lib/stages/limits.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { transcriptFrames } from '../lib/stages/audio/transcript-frames.ts'
import { validateForm } from '../lib/stages/validate.ts'
import { TranscriptionRequest } from '../schemas/transcription.ts'
import type { Call, RoutedCall } from '../lib/core/call.ts'
import type { Provider } from '../lib/providers/provider.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'

const pick = (provider: Provider) => provider.transcription

export function transcription (services: Services): (call: Call) => Promise<Reply> {
  const { keys, models, providers, settings, drains, health } = services
  const stages = [
    auth(keys),
    validateForm(TranscriptionRequest),
    perCall(readTranscription),
    routeModel<Recording>(models, providers),
    dryRun<RoutedCall<Recording>>(services, pick),
    limits<RoutedCall<Recording>>(services),
    providerCall(providers, pick, settings.limits, drains, health),
    perCall(noteTranscript)
  ] as const
  const reply = streamOrWhole({
    streamed: transcriptFrames<Recording>(), whole: wholeTranscript, write: transcriptReply
  })
  return async call => await pipe(once(call), ...stages, reply).catch(dryRunReply)
}
