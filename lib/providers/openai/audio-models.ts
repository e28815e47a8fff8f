/** What the models for sound can do, by their names: the API does not tell, and refuses late. */

import type { TranscriptFormat } from '../../../schemas/transcription.ts'

export interface ListeningModel {
  /** Forms it writes by itself. */
  readonly formats: readonly TranscriptFormat[]
  readonly logprobs: boolean
  readonly streams: boolean
  /** Whether it can be told how to cut a recording. */
  readonly chunking: boolean
  readonly prompt: boolean
  readonly translates: boolean
}

const whisper: ListeningModel = {
  formats: ['json', 'text', 'srt', 'verbose_json', 'vtt'],
  logprobs: false,
  streams: false,
  chunking: false,
  prompt: true,
  translates: true
}

const transcribe: ListeningModel = {
  formats: ['json'], logprobs: true, streams: true, chunking: true, prompt: true, translates: false
}

/** The sandbox's, which can do everything. */
const everything: ListeningModel = { ...whisper, logprobs: true, streams: true, chunking: true }

const listening: ReadonlyArray<readonly [RegExp, ListeningModel]> = [
  [/^gpt-.*transcribe-diarize/, { ...transcribe, formats: ['json', 'text'], logprobs: false, prompt: false }],
  [/^gpt-transcribe/, { ...transcribe, logprobs: false }],
  [/^gpt-.*transcribe/, transcribe],
  [/^listener$/, everything],
  // Whisper as Groq and others host it.
  [/whisper-large-v3-turbo|distil-whisper/, { ...whisper, formats: ['json', 'text', 'verbose_json'], translates: false }],
  [/whisper-large/, { ...whisper, formats: ['json', 'text', 'verbose_json'] }]
]

/** A model nobody here knows is taken for a Whisper, as servers of one's own host them. */
export function listeningModel (model: string): ListeningModel {
  return listening.find(([name]) => name.test(model))?.[1] ?? whisper
}

/** The first generation takes no instructions and sends no events. */
export function speaksPlainly (model: string): boolean {
  return /^tts-1(?:-|$)/.test(model)
}
