/**
 * Every body we send, and every answer our tests read, against an independent description of the
 * Messages API whose request side is closed: a field the server does not know fails here too.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import type { PromptedChat } from '../../lib/chat/prompt.ts'

const root = join(import.meta.dirname, '../../..')
const description = join(root, '../shared/specs/anthropic.json')
const fixtures = join(root, 'test/fixtures/anthropic')
/** Streams with events, deltas and reasons that nobody has thought of yet, on purpose. */
const unlisted = new Set(['text.sse', 'text-crlf.sse', 'unknown-stop.sse'])

interface RequestFixture { model: string, streamed?: boolean, request: PromptedChat }

if (!existsSync(description)) {
  t.plan(0, 'skipped: there is no description of the Messages API at ../shared/specs/anthropic.json')
} else {
  const schemas = JSON.parse(readFileSync(description, 'utf8')) as { $id: string } // a JSON Schema
  const ajv = new Ajv({ strict: true, allErrors: true }).addSchema(schemas)
  const check = (definition: string, value: unknown, name: string): void => {
    const validate = ajv.getSchema(`${schemas.$id}#/definitions/${definition}`)
    if (validate === undefined) throw new Error(`the description has no ${definition}`)
    t.ok(validate(value), name, { errors: validate.errors, value })
  }

  for (const name of readdirSync(fixtures)) {
    const text = readFileSync(join(fixtures, name), 'utf8')
    if (name.endsWith('.request.json')) check('CreateMessageRequest', translated(JSON.parse(text)), name)
    else if (name.endsWith('.events.json') || unlisted.has(name)) continue
    else if (name.endsWith('.json')) check('Message', JSON.parse(text), name)
    else for (const event of streamEvents(text)) check('StreamEvent', event, name)
  }
}

function translated ({ model, streamed = false, request }: RequestFixture): unknown {
  const route = { providerId: 'anthropic', model, modelId: `anthropic/${model}` }
  return JSON.parse(String(anthropicChat.request({ request, route, quirks: {}, streamed }).body))
}

function streamEvents (text: string): unknown[] {
  return text.split(/\r?\n/).filter(line => line.startsWith('data: {')).map(line => JSON.parse(line.slice(6)))
}
