/**
 * The chat-completions dialect: what OpenAI defined and most servers speak, each with deviations
 * of its own (`Quirks`). Providers that speak it are this adapter, an address and their quirks.
 */

import { readError } from './errors.ts'
import { chatRequest } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter } from '../provider.ts'

export const chatCompletions: Adapter<ChatInput, ChatEvent> = {
  request: ask => chatRequest(ask),
  response: readResponse,
  stream: readStream,
  error: readError,
  maxChoices: ({ quirks }) => quirks.choices === false ? 1 : 128
}

/** The credential of the dialect. */
export function bearer (key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}
