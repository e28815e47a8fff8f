/**
 * Validates what the chat completions dialect sends to OpenAI against the API description.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { kinds } from '../../lib/providers/kinds.ts'
import { description } from '../support/description.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const root = join(import.meta.dirname, '../../..')

const api = description('openai.json')
if (api !== undefined) {
  const validate = api.validator('CreateChatCompletionRequest')
  // Requests of every provider kind are accepted by this API; fields it does not know must not be sent.
  for (const fixture of ['chat-completions', 'xai', 'google']) {
    const path = join(root, 'test/fixtures', fixture, 'requests.json')
    // our own fixture
    const requests = JSON.parse(readFileSync(path, 'utf8')) as Array<{
      name: string
      request: Partial<ChatInput>
    }>
    for (const { name, request } of requests) {
      for (const streamed of [false, true]) {
        const { body } = chatCompletions.request({
          request: { model: 'openai/gpt-5', messages: [{ role: 'user', content: 'hi' }], ...request },
          route: { providerId: 'openai', model: 'gpt-5', modelId: 'openai/gpt-5' },
          quirks: kinds.openai.quirks ?? {},
          streamed
        })
        const value: unknown = JSON.parse(String(body))
        t.ok(validate(value), `${fixture}: ${name}`, { errors: validate.errors, value })
        const known = Object.keys(Object(Reflect.get(Object(validate.schema), 'properties')))
        t.ok(
          known.length === 0 || Object.keys(Object(value)).every(key => known.includes(key)),
          `${fixture}: ${name}, nothing else`
        )
      }
    }
  }
}
