/** Knows what models for sound accept: the API does not tell, and refuses late. */

import type { TranscriptFormat } from '../../../schemas/transcription.ts'
import type { Route } from '../../core/route.ts'

export interface ListeningModel {
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
const whisper: ListeningModel = {
  formats: ['json', 'text', 'srt', 'verbose_json', 'vtt'],
  logprobs: false,
  streaming: false,
  chunking: false,
  prompt: true,
  translation: true
}

export function listeningModel ({ traits }: Route): ListeningModel {
  return traits?.transcription === undefined ? whisper : { ...whisper, ...traits.transcription }
}
