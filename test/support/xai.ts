import { kinds } from '../../lib/providers/kinds.ts'
import { xaiChat } from '../../lib/providers/xai/index.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { AdapterInput } from '../../lib/providers/provider.ts'

/** Returns a request to Grok; a greeting unless specified otherwise. */
export function xaiAsk (request: Partial<ChatInput> = {}, streamed = false): AdapterInput<ChatInput> {
  return {
    request: { model: 'xai/grok-4.6', messages: [{ role: 'user', content: 'hi' }], ...request },
    route: { providerId: 'xai', model: 'grok-4.6', modelId: 'xai/grok-4.6' },
    quirks: kinds.xai.quirks ?? {},
    streamed
  }
}

/** Returns the body sent for it. */
export function xaiBody (request: Partial<ChatInput>, streamed = false): Record<string, unknown> {
  // as printed
  return JSON.parse(String(xaiChat.request(xaiAsk(request, streamed)).body)) as Record<string, unknown>
}
