/** Anthropic: the Messages API behind our chat completions. */

import { jsonOrSse } from '../json-or-sse.ts'
import { splitChoices } from '../split-choices.ts'
import { chatRequest } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { readError } from './errors.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter } from '../provider.ts'

export const anthropicChat: Adapter<ChatInput, ChatEvent> = {
  request: chatRequest,
  read: (_head, ask) => jsonOrSse(ask, readResponse, readStream),
  error: readError,
  split: ask => splitChoices(ask, 1)
}

/** Returns the credential, as this provider wants it. */
export function anthropicHeaders (key: string): Record<string, string> {
  return { 'x-api-key': key }
}
