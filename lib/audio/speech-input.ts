import type { ValidCall } from '../core/call.ts'
import type { SpeechRequest } from '../../schemas/speech.ts'

/** A speech request in the words of every other request: `stream` is asked for, or it is not. */
export interface SpeechInput extends SpeechRequest {
  readonly stream: boolean
}

/**
 * Makes the input of speech, and notes how much there is to say, in code points, which is what speech is
 * paid by.
 */
export function speechInput (call: ValidCall<SpeechRequest>): ValidCall<SpeechInput> {
  call.record.spokenCharacters = Array.from(call.request.input).length
  return { ...call, request: { ...call.request, stream: call.request.stream_format === 'sse' } }
}
