/** A complete in-process chat call: every stage, and a provider that answers from memory. */

import { equal } from 'node:assert/strict'
import { chat } from '../pipelines/chat.ts'
import { callOf } from './stages.bench.ts'
import { eventCount, frameCount, streamPieces, completeAnswer, completeText } from '../lib/load/answers.ts'
import { servicesTo, textOf } from './support/services.ts'
import type { Scenario } from './support/scenario.ts'

/** @param pieces of the provider's answer, one network read each */
function pipelineTo (pieces: readonly Buffer[]): (streamed: boolean) => Promise<string> {
  const handle = chat(servicesTo(pieces))
  return async streamed => await textOf(await handle(callOf('1 KB', streamed)))
}

const complete = pipelineTo([Buffer.from(completeAnswer)])

export const scenarios: readonly Scenario[] = [
  {
    name: 'pipeline: chat, complete answer, 1 KB both ways',
    per: 'call',
    count: 1,
    run: async () => await complete(false),
    check: result => equal(String(result).includes(completeText), true)
  },
  ...[1, 8, 200].map((perRead): Scenario => {
    const streamed = pipelineTo(streamPieces(perRead).map(piece => Buffer.from(piece)))
    return {
      name: `pipeline: chat, 200 events, ${perRead} per read`,
      per: 'event',
      count: eventCount,
      run: async () => await streamed(true),
      check: result => equal(String(result).split('\n\n').length - 1, frameCount(eventCount))
    }
  })
]
