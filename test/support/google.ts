import { families } from '../../lib/models/catalogue.ts'
import { familyTraits } from '../../lib/models/traits.ts'
import { googleChat } from '../../lib/providers/google/index.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { GenerateContentRequest } from '../../lib/providers/google/wire.ts'
import type { AdapterInput } from '../../lib/providers/provider.ts'

/** Returns a request to Gemini; a greeting unless specified otherwise. */
export function googleAsk (
  request: Partial<ChatInput> = {},
  model = 'gemini-2.5-flash'
): AdapterInput<ChatInput> {
  return {
    request: { model: `google/${model}`, messages: [{ role: 'user', content: 'hi' }], ...request },
    route: {
      providerId: 'google',
      model,
      modelId: `google/${model}`,
      traits: familyTraits(families, 'google', model)
    },
    quirks: {},
    streamed: false
  }
}

/** Returns the body sent for it. */
export function googleBody (request: Partial<ChatInput>, model?: string): GenerateContentRequest {
  const body = googleChat.request(googleAsk(request, model)).body
  return JSON.parse(String(body)) as GenerateContentRequest // as printed
}
