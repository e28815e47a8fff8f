/**
 * Validates what the Gemini adapter sends and reads against the API description.
 */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { googleImages } from '../../lib/providers/google/images.ts'
import { googleBody } from '../support/google.ts'
import { description } from '../support/description.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const root = join(import.meta.dirname, '../../..')
const fixtures = join(root, 'test/fixtures/google')

interface RequestFixture { name: string, model?: string, request: Partial<ChatInput> }

const api = description('gemini.json')
if (api !== undefined) {
  const { check } = api

  // our own fixture
  const requests = JSON.parse(readFileSync(join(fixtures, 'requests.json'), 'utf8')) as RequestFixture[]
  for (const { name, model, request } of requests) {
    check('GenerateContentRequest', googleBody(request, model), `request: ${name}`)
  }

  const route = {
    providerId: 'google',
    model: 'gemini-2.5-flash-image',
    modelId: 'google/gemini-2.5-flash-image'
  }
  for (const request of [
    { prompt: 'a cat' },
    { prompt: 'a cat', size: '1792x1024', quality: 'high' as const, n: 1, user: 'u' }
  ]) {
    const { body } = googleImages.request({ request, route, quirks: {}, streamed: false })
    check(
      'GenerateContentRequest',
      JSON.parse(String(body)),
      `request for an image: ${JSON.stringify(request)}`
    )
  }

  // One recorded reason is unknown on purpose.
  const answers = readdirSync(fixtures).filter(name => name.endsWith('.sse') && name !== 'other-parts.sse')
  for (const name of answers) {
    for (const line of readFileSync(join(fixtures, name), 'utf8').split('\r\n')) {
      if (line.startsWith('data: ')) {
        check('GenerateContentResponse', JSON.parse(line.slice(6)), `answer: ${name}`)
      }
    }
  }
}
