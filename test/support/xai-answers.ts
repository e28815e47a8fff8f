/** Requests and recorded responses of xAI, for tests of its adapter. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ChatInput } from '../../lib/chat/input.ts'

export const fixtures = join(import.meta.dirname, '../../../test/fixtures/xai')
// ours
export const requests = JSON.parse(readFileSync(join(fixtures, 'requests.json'), 'utf8')) as Array<{
  name: string
  request: Partial<ChatInput>
}>
