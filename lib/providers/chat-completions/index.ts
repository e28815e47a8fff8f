/**
 * The chat-completions dialect: defined by OpenAI and spoken by most servers, with deviations (`Quirks`). A
 * provider that speaks it is this adapter plus an address and quirks.
 */

import { jsonOrSse, splitChoices } from '../json-api.ts'
import { readError } from './errors.ts'
import { chatRequest } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter } from '../provider.ts'

/** Maximum choices per request. */
const maxChoices = 128

export const chatCompletions: Adapter<ChatInput, ChatEvent> = {
  request: chatRequest,
  read: jsonOrSse(readResponse, readStream),
  error: readError,
  split: splitChoices(maxChoices)
}

/** Returns the credential headers of the dialect. */
export function bearer (key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}
