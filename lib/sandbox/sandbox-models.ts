/** The models of the sandbox: their catalogue entries, and how each answers. */

import { otherUpstreamApi } from '../providers/kinds.ts'
import type { ModelEntry } from '../core/model.ts'

/** How a model answers, where it differs from `echo`. */
export interface Character {
  /** `echo` repeats the question, `story` continues it. */
  readonly voice: 'echo' | 'story'
  readonly thinks: boolean
  /** The pace of the model, overriding the provider's. */
  readonly wordsPerSecond?: number
}

export const characters: ReadonlyMap<string, Character> = new Map<string, Character>([
  ['echo', { voice: 'echo', thinks: false }],
  ['story', { voice: 'story', thinks: false }],
  ['thinker', { voice: 'echo', thinks: true }],
  ['slow', { voice: 'echo', thinks: false, wordsPerSecond: 4 }]
])

/** The models of the image paths, of OCR, of speech, and of transcriptions. */
export const imageModel = 'painter'
export const ocrModel = 'reader'
export const speechModel = 'speaker'
export const transcriptionModel = 'listener'

/** Maximum tokens of a prompt. */
export const inputTokenLimit = 250_000

/** Maximum tokens of one answer, over all its choices. */
export const outputTokenLimit = 32_768

/** The only model for embeddings. */
export const embeddingModel = {
  name: 'embedding',
  dimensions: 256,
  inputTokenLimit: 8192,
  requestTokenLimit: 300_000
} as const

export const sandboxModels: readonly ModelEntry[] = [
  entry('echo', 'Sandbox echo (simulator)', 'repeats the question and calls the tools named in it'),
  entry('story', 'Sandbox story (simulator)', 'writes a made-up story of as many words as are requested'),
  entry('thinker', 'Sandbox thinker (simulator)', 'shows made-up reasoning before it answers', true),
  entry('slow', 'Sandbox slow (simulator)', 'answers like echo, four words a second'),
  {
    ...entry(imageModel, 'Sandbox painter (simulator)', 'makes patterns out of prompts'),
    upstreamApi: 'openai/images',
    capabilities: { vision: true, image_generation: true, streaming: true }
  },
  {
    ...entry(ocrModel, 'Sandbox reader (simulator)', 'makes up the text of documents'),
    upstreamApi: otherUpstreamApi,
    capabilities: { text: true, vision: true }
  },
  {
    ...entry(
      embeddingModel.name,
      'Sandbox embedding (simulator)',
      'makes vectors of the words and letters of a text'
    ),
    upstreamApi: 'openai/embeddings',
    capabilities: { text: true, input_token_limit: embeddingModel.inputTokenLimit },
    traits: {
      embeddings: {
        dimensions: embeddingModel.dimensions,
        supportsDimensions: true,
        tokensPerInput: embeddingModel.inputTokenLimit,
        tokensPerRequest: embeddingModel.requestTokenLimit
      }
    }
  },
  {
    ...entry(speechModel, 'Sandbox speaker (simulator)', 'makes sound files as long as a text'),
    upstreamApi: 'openai/audio/speech',
    capabilities: { audio: true, streaming: true }
  },
  {
    ...entry(transcriptionModel, 'Sandbox listener (simulator)', 'makes up what is said in recordings'),
    upstreamApi: 'openai/audio/transcriptions',
    capabilities: { text: true, audio: true, streaming: true },
    traits: {
      transcription: {
        formats: ['json', 'text', 'srt', 'verbose_json', 'vtt'],
        logprobs: true,
        streaming: true,
        chunking: true,
        prompt: true,
        translation: true
      }
    }
  }
]

function entry (model: string, displayName: string, does: string, thinking = false): ModelEntry {
  return {
    id: `sandbox/${model}`,
    providerId: 'sandbox',
    model,
    createdAt: '2026-01-01T00:00:00Z',
    displayName,
    description: `A simulator inside the gateway, not a language model: ${does}. No network, no cost.`,
    status: 'enabled',
    upstreamApi: 'openai/chat/completions',
    capabilities: {
      text: true,
      vision: true,
      image_generation: false,
      audio: false,
      tools: true,
      structured_output: true,
      streaming: true,
      thinking,
      input_token_limit: inputTokenLimit,
      output_token_limit: outputTokenLimit
    },
    price: { input: 0, output: 0, asOf: '2026-01-01' }
  }
}
