/**
 * What the Gemini adapter sends and reads, against the API's description. The description is not
 * part of this repository: without it beside the checkout there is nothing to compare with.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { googleImages } from '../../lib/providers/google/images.ts'
import { googleBody } from '../support/google.ts'
import type { PromptedChat } from '../../lib/chat/prompt.ts'

const root = join(import.meta.dirname, '../../..')
const description = join(root, '../shared/specs/gemini.json')
const fixtures = join(root, 'test/fixtures/google')

interface RequestFixture { name: string, model?: string, request: Partial<PromptedChat> }

if (!existsSync(description)) {
  t.plan(0, 'skipped: there is no description of the Gemini API at ../shared/specs/gemini.json')
} else {
  const schemas = JSON.parse(readFileSync(description, 'utf8')) as { $id: string } // a JSON Schema
  const ajv = new Ajv({ strict: true, allErrors: true }).addSchema(schemas)
  const check = (definition: string, value: unknown, name: string): void => {
    const validate = ajv.getSchema(`${schemas.$id}#/definitions/${definition}`)
    if (validate === undefined) throw new Error(`the description has no ${definition}`)
    t.ok(validate(value), name, { errors: validate.errors, value })
  }

  const requests = JSON.parse(readFileSync(join(fixtures, 'requests.json'), 'utf8')) as RequestFixture[] // ours
  for (const { name, model, request } of requests) {
    check('GenerateContentRequest', googleBody(request, model), `request: ${name}`)
  }

  const route = { providerId: 'google', model: 'gemini-2.5-flash-image', modelId: 'google/gemini-2.5-flash-image' }
  for (const request of [{ prompt: 'a cat' }, { prompt: 'a cat', size: '1792x1024', quality: 'high' as const, n: 1, user: 'u' }]) {
    const { body } = googleImages.request({ request, route, quirks: {}, streamed: false })
    check('GenerateContentRequest', JSON.parse(String(body)), `request for an image: ${JSON.stringify(request)}`)
  }

  // One recorded reason is deliberately unknown.
  const answers = readdirSync(fixtures).filter(name => name.endsWith('.sse') && name !== 'other-parts.sse')
  for (const name of answers) {
    for (const line of readFileSync(join(fixtures, name), 'utf8').split('\r\n')) {
      if (line.startsWith('data: ')) check('GenerateContentResponse', JSON.parse(line.slice(6)), `answer: ${name}`)
    }
  }
}
