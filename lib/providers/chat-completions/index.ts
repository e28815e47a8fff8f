/**
 * The chat-completions dialect: what OpenAI defined and most servers speak, each with deviations
 * of its own (`Quirks`). Providers that speak it are this adapter, an address and their quirks.
 */

import { jsonOrSse, splitChoices } from '../json-api.ts'
import { readError } from './errors.ts'
import { chatRequest } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter } from '../provider.ts'

/** Maximum number of choices of one request. */
const maxChoices = 128

export const chatCompletions: Adapter<ChatInput, ChatEvent> = {
  request: chatRequest,
  read: (_head, input) => jsonOrSse(input, readResponse, readStream),
  error: readError,
  split: input => splitChoices(input, input.quirks.multipleChoices === false ? 1 : maxChoices)
}

/** Returns the credential of the dialect. */
export function bearer (key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}
