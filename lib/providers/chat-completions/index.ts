/**
 * The chat-completions dialect: what OpenAI defined and most servers speak, each with deviations
 * of its own (`Quirks`). Providers that speak it are this adapter, an address and their quirks.
 */

import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { jsonOrSse } from '../json-or-sse.ts'
import { splitChoices } from '../split-choices.ts'
import { readError } from './errors.ts'
import { chatRequest } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { readTextResponse } from './text-response.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter, Ask, BodyReader } from '../provider.ts'

/** Maximum number of choices of one request. */
const maxChoices = 128

export const chatCompletions: Adapter<ChatInput, ChatEvent> = {
  request: ask => chatRequest(ask),
  read: (_head, ask) => withTextRuns(jsonOrSse(ask, readResponse, readStream), ask),
  error: readError,
  split: ask => splitChoices(ask, ask.quirks.multipleChoices === false ? 1 : maxChoices)
}

/** Leaves the text of complete responses as it stands in JSON where the caller's dialect prints it. */
function withTextRuns (reader: BodyReader<ChatEvent>, { request, textRuns }: Ask<ChatInput>): BodyReader<ChatEvent> {
  if (reader.as !== 'json' || textRuns !== true || offersFunctionsOnly(request)) return reader
  const { as, read, sse } = reader
  // Without a spread, for which V8 makes a hidden class for every call: 2 µs.
  return { as, read, readBytes: bytes => readTextResponse(bytes, read), sse }
}

/** Returns the credential of the dialect. */
export function bearer (key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}
