/**
 * Measures the cost of translation: a complete in-process chat call, for each dialect of providers.
 */

import { equal } from 'node:assert/strict'
import { chat } from '../pipelines/chat.ts'
import { sseDecoder } from '../lib/wire/sse-decoder.ts'
import { callOf } from './stages.bench.ts'
import { eventCount, texts, completeText } from '../lib/load/answers.ts'
import { dialects, type Dialect } from './support/dialects.ts'
import { servicesTo, textOf } from './support/services.ts'
import type { Scenario } from './support/scenario.ts'

const expectedText = texts.join('')

function completeCall ({ kind, complete }: Dialect): Scenario {
  const handle = chat(servicesTo([Buffer.from(complete)], { kind }))
  return {
    name: `translate: ${kind}, complete answer, 1 KB both ways`,
    per: 'call',
    count: 1,
    run: async () => await textOf(await handle(callOf('1 KB', false))),
    check: result => equal(String(result).includes(completeText), true)
  }
}

function streamedCall ({ kind, pieces }: Dialect): Scenario {
  const handle = chat(servicesTo(pieces(8).map(piece => Buffer.from(piece)), { kind }))
  return {
    name: `translate: ${kind}, 200 events, 8 per read`,
    per: 'event',
    count: eventCount,
    run: async () => await textOf(await handle(callOf('1 KB', true))),
    check: result => equal(textsOf(String(result)), expectedText)
  }
}

/** The text of a stream of ours. */
function textsOf (stream: string): string {
  const messages = sseDecoder(10_000_000).push(Buffer.from(stream))
  return messages.map(({ data }) => {
    if (data === '[DONE]') return ''
    // Chunks printed a moment ago.
    const chunk = JSON.parse(data) as { choices: Array<{ delta: { content?: string } }> }
    return chunk.choices[0]?.delta.content ?? ''
  }).join('')
}

export const scenarios: readonly Scenario[] = dialects.flatMap(dialect => [
  completeCall(dialect),
  streamedCall(dialect)
])
