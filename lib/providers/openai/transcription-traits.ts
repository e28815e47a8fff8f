/** Traits of audio models: the API does not declare what they accept, and rejects requests late. */

import type { TranscriptFormat } from '../../../schemas/transcription.ts'
import type { Route } from '../../core/route.ts'

export interface TranscriptionTraits {
  /** Output formats of the model. */
  readonly formats: readonly TranscriptFormat[]
  readonly logprobs: boolean
  readonly streaming: boolean
  /** True if the model accepts a chunking strategy. */
  readonly chunking: boolean
  /** True if it accepts known speakers. */
  readonly speakers: boolean
  /** True if it accepts `languages` and `keywords`. */
  readonly keywords: boolean
  readonly prompt: boolean
  readonly translation: boolean
}

/** Unknown models are assumed to be Whisper, which self-hosted servers run. */
const whisper: TranscriptionTraits = {
  formats: ['json', 'text', 'srt', 'verbose_json', 'vtt'],
  logprobs: false,
  streaming: false,
  chunking: false,
  speakers: false,
  keywords: false,
  prompt: true,
  translation: true
}

/** Returns the traits of a route's model. */
export function transcriptionTraits ({ traits }: Route): TranscriptionTraits {
  return traits?.transcription === undefined ? whisper : { ...whisper, ...traits.transcription }
}
