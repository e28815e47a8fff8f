/**
 * Validates every body we send, and every answer our tests read, against an independent description of the
 * Messages API. Its requests allow no additional properties, so a field that the server does not know fails
 * here too.
 */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { description } from '../support/description.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const root = join(import.meta.dirname, '../../..')
const fixtures = join(root, 'test/fixtures/anthropic')
/** Streams that contain unknown events, deltas and reasons on purpose. */
const unlisted = new Set(['text.sse', 'text-crlf.sse', 'unknown-stop.sse'])

interface RequestFixture { model: string, streamed?: boolean, request: ChatInput }

const api = description('anthropic.json')
if (api !== undefined) {
  const { check } = api

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
