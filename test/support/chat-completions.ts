/** Requests and recorded responses of the chat-completions dialect, for tests of its adapter. */

import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { streamOf } from './adapters.ts'
import { readEvents } from './read-events.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { AdapterInput } from '../../lib/providers/provider.ts'
import type { Quirks } from '../../lib/core/provider-traits.ts'

export function ask (
  request: Partial<ChatInput> = {},
  quirks: Quirks = {},
  streamed = false
): AdapterInput<ChatInput> {
  return {
    request: { model: 'x/m', messages: [{ role: 'user', content: 'hi' }], ...request },
    route: { providerId: 'x', model: 'm', modelId: 'x/m' },
    quirks,
    streamed
  }
}

export function body (
  request: Partial<ChatInput>,
  quirks?: Quirks,
  streamed?: boolean
): Record<string, unknown> {
  return JSON.parse(String(chatCompletions.request(ask(request, quirks, streamed)).body)) as Record<
    string,
    unknown
  >
}

export function refusal (work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

/** Reads a stream of these messages to its end. */
export function streamed (frames: string, request: Partial<ChatInput> = {}): ChatEvent[] {
  return readEvents([Buffer.from(frames)], streamOf(chatCompletions, ask(request)))
}

export const text =
  'data: {"id":"1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'
