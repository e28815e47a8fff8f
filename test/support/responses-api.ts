/** Requests to a model that OpenAI serves only through its Responses API, and recorded answers. */

import { join } from 'node:path'
import { openaiAdapters } from '../../lib/providers/openai/index.ts'
import { kinds } from '../../lib/providers/kinds.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { AdapterInput } from '../../lib/providers/provider.ts'

export const fixtures = join(import.meta.dirname, '../../../test/fixtures/responses')

/** Returns a request to gpt-5-pro; a greeting unless specified otherwise. */
export function responsesAsk (request: Partial<ChatInput> = {}, streamed = false): AdapterInput<ChatInput> {
  return {
    request: { model: 'openai/gpt-5-pro', messages: [{ role: 'user', content: 'hi' }], ...request },
    route: {
      providerId: 'openai',
      model: 'gpt-5-pro',
      modelId: 'openai/gpt-5-pro',
      traits: { responsesOnly: true }
    },
    quirks: kinds.openai.quirks ?? {},
    streamed
  }
}

/** Returns the body sent for it. */
export function responsesBody (request: Partial<ChatInput>, streamed = false): Record<string, unknown> {
  const { path, body } = openaiAdapters.chat.request(responsesAsk(request, streamed))
  if (path !== '/responses') throw new TypeError(path)
  return JSON.parse(String(body)) as Record<string, unknown> // as printed
}
