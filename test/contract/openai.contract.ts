/**
 * What the chat-completions dialect sends to OpenAI, against the API's description. The description
 * is not part of this repository: without it beside the checkout there is nothing to compare with.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { kindQuirks } from '../../lib/providers/kinds.ts'
import type { PromptedChat } from '../../lib/chat/prompt.ts'

const root = join(import.meta.dirname, '../../..')
const description = join(root, '../shared/specs/openai.json')

if (!existsSync(description)) {
  t.plan(0, 'skipped: there is no description of the OpenAI API at ../shared/specs/openai.json')
} else {
  const schemas = JSON.parse(readFileSync(description, 'utf8')) as { $id: string } // a JSON Schema
  const ajv = new Ajv({ strict: true, allErrors: true }).addSchema(schemas)
  const validate = ajv.getSchema(`${schemas.$id}#/definitions/CreateChatCompletionRequest`)
  if (validate === undefined) throw new Error('the description has no request')

  // The requests of every provider are requests of this API; what it does not know must not go up.
  for (const fixture of ['chat-completions', 'xai', 'google']) {
    const path = join(root, 'test/fixtures', fixture, 'requests.json')
    const requests = JSON.parse(readFileSync(path, 'utf8')) as Array<{ name: string, request: Partial<PromptedChat> }> // ours
    for (const { name, request } of requests) {
      for (const streamed of [false, true]) {
        const { body } = chatCompletions.request({
          request: { model: 'openai/gpt-5', messages: [{ role: 'user', content: 'hi' }], ...request },
          route: { providerId: 'openai', model: 'gpt-5', modelId: 'openai/gpt-5' },
          quirks: kindQuirks.openai ?? {},
          streamed
        })
        const value: unknown = JSON.parse(String(body))
        t.ok(validate(value), `${fixture}: ${name}`, { errors: validate.errors, value })
        const known = Object.keys(Object(Reflect.get(Object(validate.schema), 'properties')))
        t.ok(known.length === 0 || Object.keys(Object(value)).every(key => known.includes(key)), `${fixture}: ${name}, nothing else`)
      }
    }
  }
}
