/**
 * Measures what configured guards and cached answers add to a complete in-process chat call.
 */

import { equal } from 'node:assert/strict'
import { AnswerCache } from '../lib/cache/answer-cache.ts'
import { MemoryEntries } from '../lib/cache/entries.ts'
import { configuredGuards } from '../lib/guards/configured-guards.ts'
import { chat } from '../pipelines/chat.ts'
import { callOf } from './stages.bench.ts'
import {
  eventCount,
  frameCount,
  streamPieces,
  completeAnswer,
  completeText,
  type BodySize
} from '../lib/load/answers.ts'
import { servicesTo, textOf } from './support/services.ts'
import type { Services } from '../lib/services.ts'
import type { Scenario } from './support/scenario.ts'

const onePattern = configuredGuards([
  {
    name: 'cards',
    use: 'pattern',
    at: ['request', 'answer', 'tool_call', 'tool_result'],
    patterns: ['card_number']
  }
])
const guarded: Partial<Services> = { textGuards: onePattern }

function cached (): Partial<Services> {
  const settings = { ttlMs: 3_600_000, maxBytes: 1e8, scope: 'key', when: 'always' } as const
  const options = {
    settings,
    entries: new MemoryEntries(settings.maxBytes),
    secret: Buffer.alloc(32),
    configuration: ''
  }
  return { answerCache: new AnswerCache(options) }
}

function complete (name: string, size: BodySize, more: Partial<Services>): Scenario {
  const handle = chat({ ...servicesTo([Buffer.from(completeAnswer)]), ...more })
  return {
    name: `guards: JSON, ${size} body, ${name}`,
    per: 'call',
    count: 1,
    run: async () => await textOf(await handle(callOf(size))),
    check: result => equal(String(result).includes(completeText), true)
  }
}

function streamed (name: string, perRead: number, more: Partial<Services>): Scenario {
  const handle = chat({ ...servicesTo(streamPieces(perRead).map(piece => Buffer.from(piece))), ...more })
  return {
    name: `guards: 200 events, ${perRead} per read, ${name}`,
    per: 'event',
    count: eventCount,
    run: async () => await textOf(await handle(callOf('1 KB', true))),
    check: result => equal(String(result).split('\n\n').length - 1, frameCount(eventCount))
  }
}

export const scenarios: readonly Scenario[] = [
  ...(['1 KB', '33 KB'] as const).flatMap(size => [
    complete('no guard', size, {}),
    complete('one pattern', size, guarded),
    complete('from the cache', size, cached())
  ]),
  ...[1, 8].flatMap(perRead => [
    streamed('no guard', perRead, {}),
    streamed('one pattern', perRead, guarded),
    streamed('from the cache', perRead, cached())
  ])
]
