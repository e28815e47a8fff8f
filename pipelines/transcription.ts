/** POST /v1/audio/transcriptions: a recording in; what was said out, in its own language. */

import { pipe } from 'it-pipe'
import { transcriptionInput, type RecordingInput } from '../lib/audio/recording-input.ts'
import { noteTranscript, transcriptReply, toTranscript } from '../lib/audio/complete.ts'
import { streamOrJson } from '../lib/replies/stream-or-json.ts'
import { once, map } from '../lib/core/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { dryRun, dryRunReply } from '../lib/stages/dry-run.ts'
import { limits } from '../lib/stages/limits.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { transcriptFrames } from '../lib/stages/audio/transcript-frames.ts'
import { validateForm } from '../lib/stages/validate.ts'
import { TranscriptionRequest } from '../schemas/transcription.ts'
import type { Call, RoutedCall } from '../lib/core/call.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'

export function transcription (services: Services): (call: Call) => Promise<Reply> {
  const { keys, models, providers } = services
  const stages = [
    auth(keys),
    validateForm(TranscriptionRequest),
    map(transcriptionInput),
    routeModel<RecordingInput>(models, providers),
    dryRun<RoutedCall<RecordingInput>>(services, 'transcription'),
    limits<RoutedCall<RecordingInput>>(services),
    providerCall(services, 'transcription'),
    map(noteTranscript)
  ] as const
  const reply = streamOrJson({
    streamed: transcriptFrames<RecordingInput>(), whole: toTranscript, write: transcriptReply
  })
  return async call => await pipe(once(call), ...stages, reply).catch(dryRunReply)
}
