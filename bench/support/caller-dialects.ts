/** Lists the dialects of callers: their requests, and where their answers have text. */

import { eventCount, frameCount, requestBody, type BodySize } from '../../lib/load/answers.ts'
import { chatTexts, type AnswerTexts } from '../../lib/load/answer-check.ts'
import { objectsOf, property } from '../../lib/json/type-guards.ts'

export interface CallerDialect extends AnswerTexts {
  readonly path: string
  /** Returns a request whose answer has the given shape; `mock` models count as OpenAI's. */
  readonly body: (shape: string, size: BodySize, streamed: boolean, provider?: string) => string
  /** Frames of a stream of 200 texts, as printed by the gateway. */
  readonly frames: number
}

export type CallerDialectName = keyof typeof callerDialects

export const callerDialects = {
  chat: {
    path: '/v1/chat/completions',
    body: requestBody,
    frames: frameCount(eventCount),
    ...chatTexts
  },
  messages: {
    path: '/v1/messages',
    body: (...given) => {
      const { model, messages, stream, max_tokens } = chatRequest(...given)
      const [system, ...turns] = messages
      return JSON.stringify({
        model,
        max_tokens,
        ...stream && { stream },
        system: system?.content,
        messages: turns,
        temperature: 0.7
      })
    },
    frames: eventCount + 6,
    lastFrame: /^event: message_stop\n/,
    textOf: (value, streamed) =>
      streamed
        ? stringOf(property(property(value, 'delta'), 'text'))
        : objectsOf(property(value, 'content'))
            .map(block => stringOf(block['text']))
            .join('')
  },
  responses: {
    path: '/v1/responses',
    body: (...given) => {
      const { model, messages, stream, max_tokens } = chatRequest(...given)
      const [system, ...input] = messages
      return JSON.stringify({
        model,
        input,
        instructions: system?.content,
        ...stream && { stream },
        store: false,
        temperature: 0.7,
        max_output_tokens: max_tokens
      })
    },
    frames: eventCount + 9,
    lastFrame: /^data: \[DONE\]$/,
    textOf: (value, streamed) =>
      streamed
        ? stringOf(property(value, 'delta'))
        : objectsOf(property(value, 'output'))
            .flatMap(({ content }) => objectsOf(content))
            .map(part => stringOf(part['text']))
            .join('')
  }
} as const satisfies Record<string, CallerDialect>

interface ChatBody {
  readonly model: string
  readonly messages: ReadonlyArray<{ readonly role: string, readonly content: string }>
  readonly stream?: boolean
  readonly max_tokens: number
}

function chatRequest (...given: Parameters<CallerDialect['body']>): ChatBody {
  return JSON.parse(requestBody(...given)) as ChatBody // printed by us
}

function stringOf (value: unknown): string {
  return typeof value === 'string' ? value : ''
}
