/** Together: OpenAI's API, apart from images and speech, whose fields have other names and values. */

import { togetherImages } from './images.ts'
import { togetherSpeech } from './speech.ts'
import type { Adapters } from '../provider.ts'

/** Returns OpenAI's adapters for what Together serves. It makes images, and has no endpoint to edit them. */
export function togetherAdapters (
  openai: Required<
    Pick<Adapters, 'chat' | 'embeddings' | 'images' | 'speech' | 'transcription' | 'translation'>
  >
): Adapters {
  const { chat, embeddings, images, speech, transcription, translation } = openai
  return {
    chat,
    embeddings,
    images: togetherImages(images),
    speech: togetherSpeech(speech),
    transcription,
    translation
  }
}
