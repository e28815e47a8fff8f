/**
 * What the xAI adapter sends and reads, against what is believed of the API. The description is
 * not part of this repository: without it beside the checkout there is nothing to compare with.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { xaiDeferred } from '../../lib/providers/xai/deferred.ts'
import { xaiAsk, xaiBody } from '../support/xai.ts'
import type { PromptedChat } from '../../lib/chat/prompt.ts'

const root = join(import.meta.dirname, '../../..')
const description = join(root, '../shared/specs/xai.json')
const fixtures = join(root, 'test/fixtures/xai')

if (!existsSync(description)) {
  t.plan(0, 'skipped: there is no description of the xAI API at ../shared/specs/xai.json')
} else {
  const schemas = JSON.parse(readFileSync(description, 'utf8')) as { $id: string } // a JSON Schema
  const ajv = new Ajv({ strict: true, allErrors: true }).addSchema(schemas)
  const check = (definition: string, value: unknown, name: string): void => {
    const validate = ajv.getSchema(`${schemas.$id}#/definitions/${definition}`)
    if (validate === undefined) throw new Error(`the description has no ${definition}`)
    t.ok(validate(value), name, { errors: validate.errors, value })
  }

  const requests = JSON.parse(readFileSync(join(fixtures, 'requests.json'), 'utf8')) as Array<{ name: string, request: Partial<PromptedChat> }> // ours
  for (const { name, request } of requests) {
    for (const streamed of [false, true]) check('ChatRequest', xaiBody(request, streamed), `request: ${name}`)
  }
  const { body } = xaiDeferred.start.request(xaiAsk())
  check('ChatRequest', JSON.parse(String(body)), 'request: deferred')
  for (const name of readdirSync(fixtures).filter(name => name.endsWith('.sse'))) {
    for (const line of readFileSync(join(fixtures, name), 'utf8').split('\n')) {
      if (line.startsWith('data: {')) check('ChatResponseChunk', JSON.parse(line.slice(6)), `answer: ${name}`)
    }
  }
}
