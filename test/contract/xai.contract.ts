/**
 * Validates what the xAI adapter sends and reads against a description of the API.
 */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { xaiDeferred } from '../../lib/providers/xai/deferred.ts'
import { xaiAsk, xaiBody } from '../support/xai.ts'
import { description } from '../support/description.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const root = join(import.meta.dirname, '../../..')
const fixtures = join(root, 'test/fixtures/xai')

const api = description('xai.json')
if (api !== undefined) {
  const { check } = api

  // our own fixture
  const requests = JSON.parse(readFileSync(join(fixtures, 'requests.json'), 'utf8')) as Array<{
    name: string
    request: Partial<ChatInput>
  }>
  for (const { name, request } of requests) {
    for (const streamed of [false, true]) check('ChatRequest', xaiBody(request, streamed), `request: ${name}`)
  }
  const { body } = xaiDeferred.request(xaiAsk())
  check('ChatRequest', JSON.parse(String(body)), 'request: deferred')
  for (const name of readdirSync(fixtures).filter(name => name.endsWith('.sse'))) {
    for (const line of readFileSync(join(fixtures, name), 'utf8').split('\n')) {
      if (line.startsWith('data: {')) check('ChatResponseChunk', JSON.parse(line.slice(6)), `answer: ${name}`)
    }
  }
}
