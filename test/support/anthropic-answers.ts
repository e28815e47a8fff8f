/** Requests to Claude, and its answers: recorded, or as given. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { families } from '../../lib/models/catalogue.ts'
import { familyTraits } from '../../lib/models/traits.ts'
import { streamOf } from './adapters.ts'
import { readEvents } from './read-events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { AdapterInput } from '../../lib/providers/provider.ts'
import type { MessagesRequest } from '../../lib/providers/anthropic/wire.ts'

export const fixtures = join(import.meta.dirname, '../../../test/fixtures/anthropic')

export function read (name: string): Buffer {
  return readFileSync(join(fixtures, name))
}

export function ask (
  request: Partial<ChatInput> = {},
  model = 'claude-haiku-4-5',
  streamed = false
): AdapterInput<ChatInput> {
  return {
    request: { model: `anthropic/${model}`, messages: [{ role: 'user', content: 'hi' }], ...request },
    route: {
      providerId: 'anthropic',
      model,
      modelId: `anthropic/${model}`,
      traits: familyTraits(families, 'anthropic', model)
    },
    quirks: {},
    streamed
  }
}

export function bodyOf (question: AdapterInput<ChatInput>): MessagesRequest {
  // the request it is printed from
  return JSON.parse(String(anthropicChat.request(question).body)) as MessagesRequest
}

export function body (request: Partial<ChatInput>, model?: string): MessagesRequest {
  return bodyOf(ask(request, model))
}

/** Fixtures of deprecated calls answer a caller who sends deprecated functions. */
export function question (fixture: string): AdapterInput<ChatInput> {
  return ask(fixture.startsWith('legacy') ? { functions: [{ name: 'ferry_times' }] } : {})
}

export function stream (name: string): ChatEvent[] {
  return readEvents([read(`${name}.sse`)], streamOf(anthropicChat, question(name)))
}

export function eventsOf (...messages: object[]): ChatEvent[] {
  return readEvents([sse(messages)], streamOf(anthropicChat, ask()))
}

export function sse (messages: readonly object[]): Buffer {
  return Buffer.from(messages.map(message => {
    return `event: ${String(Reflect.get(message, 'type'))}\ndata: ${JSON.stringify(message)}\n\n`
  }).join(''))
}

export const start = {
  type: 'message_start',
  message: { id: 'msg_1', usage: { input_tokens: 5, output_tokens: 1 } }
}
export const textStart = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
export const half = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'half' } }
export const finish = {
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  usage: { output_tokens: 3 }
}
export const stop = { type: 'message_stop' }
