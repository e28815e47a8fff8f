/** OpenAI: two chat APIs and the media APIs, all widely copied by other servers. */

import { chatCompletions } from '../chat-completions/index.ts'
import { withResponses } from '../responses/index.ts'
import { openaiEmbeddings } from './embeddings.ts'
import { openaiImageEdits, openaiImageVariations } from './image-edits.ts'
import { openaiImages } from './images.ts'
import { openaiModerations } from './moderations.ts'
import { openaiSpeech } from './speech.ts'
import { openaiTranscription, openaiTranslation } from './transcription.ts'
import type { Adapters } from '../provider.ts'

export const openaiAdapters = {
  chat: withResponses(chatCompletions),
  embeddings: openaiEmbeddings,
  images: openaiImages,
  imageEdits: openaiImageEdits,
  imageVariations: openaiImageVariations,
  speech: openaiSpeech,
  transcription: openaiTranscription,
  translation: openaiTranslation,
  moderation: openaiModerations
} satisfies Adapters
