/** Reads the traits of models for sound: the API does not say what they accept, and refuses late. */

import type { TranscriptFormat } from '../../../schemas/transcription.ts'
import type { Route } from '../../core/route.ts'

export interface TranscriptionTraits {
  /** Forms it writes by itself. */
  readonly formats: readonly TranscriptFormat[]
  readonly logprobs: boolean
  readonly streaming: boolean
  /** True when it takes a chunking strategy. */
  readonly chunking: boolean
  readonly prompt: boolean
  readonly translation: boolean
}

/** An unknown model is taken for a Whisper, as self-hosted servers run it. */
const whisper: TranscriptionTraits = {
  formats: ['json', 'text', 'srt', 'verbose_json', 'vtt'],
  logprobs: false,
  streaming: false,
  chunking: false,
  prompt: true,
  translation: true
}

/** Reads what is known of a model. */
export function transcriptionTraits ({ traits }: Route): TranscriptionTraits {
  return traits?.transcription === undefined ? whisper : { ...whisper, ...traits.transcription }
}
