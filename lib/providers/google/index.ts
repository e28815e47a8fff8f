/**
 * Gemini, by its native API: thought summaries, signatures, safety settings and cached content are missing
 * from its OpenAI-compatible one. Base URL: https://generativelanguage.googleapis.com
 */

import { jsonOrSse, splitChoices } from '../json-api.ts'
import { chatRequest, maxChoices } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { candidatesAsChoices } from './generation-config.ts'
import { googleEmbeddings } from './embeddings.ts'
import { readError } from './errors.ts'
import { googleImages } from './images.ts'
import { googleTokenCount } from './token-count.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter, Adapters } from '../provider.ts'

export const googleChat: Adapter<ChatInput, ChatEvent> = {
  request: chatRequest,
  read: jsonOrSse(readResponse, readStream),
  error: readError,
  split: input => splitChoices<ChatInput>(maxChoices(input))(candidatesAsChoices(input))
}

export const googleAdapters = {
  chat: googleChat,
  embeddings: googleEmbeddings,
  images: googleImages,
  tokenCount: googleTokenCount
} satisfies Adapters

/** Returns the credential as a header, because URLs end up in logs. */
export function googleHeaders (key: string): Record<string, string> {
  return { 'x-goog-api-key': key }
}
