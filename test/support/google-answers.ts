/** Answers of Gemini: recorded, or as given. */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { toCompletion } from '../../lib/dialects/chat-completions/complete.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

export const fixtures = join(import.meta.dirname, '../../../test/fixtures/google')
export const recorded = readdirSync(fixtures)
  .filter(name => name.endsWith('.sse'))
  .map(name => name.slice(0, -4))

export function bytesOf (name: string): Buffer {
  return readFileSync(join(fixtures, `${name}.sse`))
}

/** Ids made by the reader differ from run to run. */
export function plain (value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replace(/call_[0-9a-f]{24}/g, 'call_made'))
}

export function completion (events: readonly ChatEvent[]): unknown {
  const head = { type: 'answer-start', id: 'chatcmpl-1', model: 'google/m', createdSeconds: 1 } as const
  return plain(toCompletion([{ events: [head, ...events.slice(1)] }]))
}

export function sse (...payloads: unknown[]): Buffer {
  return Buffer.from(payloads.map(payload => `data: ${JSON.stringify(payload)}\r\n\r\n`).join(''))
}
