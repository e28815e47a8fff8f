/** The lanes of `headgate bench`: those lanes of `bench/support/lanes` that need only an address. */

import { completeText, eventCount, frameCount, requestBody, texts } from './answers.ts'
import { waitMs, type SimulatedModel } from './simulated-provider.ts'
import type { Expected } from './answer-check.ts'

export interface HttpLane {
  readonly name: string
  readonly model: SimulatedModel
  /** @param provider the first part of the model's name */
  readonly body: (provider: string) => string
  readonly expected: Expected
  /** The end of the measured time: a paced stream takes as long as its pauses, whatever the gateway does. */
  readonly until: 'end' | 'first byte'
}

export const complete: Expected = { frames: 0, text: completeText }
const stream: Expected = { frames: frameCount(eventCount), text: texts.join('') }

export const httpLanes: readonly HttpLane[] = [
  {
    name: 'JSON, 1 KB body',
    model: 'json',
    body: provider => requestBody('json', '1 KB', false, provider),
    expected: complete,
    until: 'end'
  },
  {
    name: 'JSON, 33 KB body',
    model: 'json',
    body: provider => requestBody('json', '33 KB', false, provider),
    expected: complete,
    until: 'end'
  },
  {
    name: '200 events, 8 per write',
    model: 'eights',
    body: provider => requestBody('eights', '1 KB', true, provider),
    expected: stream,
    until: 'end'
  },
  {
    name: '200 events, paced 5 ms: first byte',
    model: 'paced-5',
    body: provider => requestBody('paced-5', '1 KB', true, provider),
    expected: { frames: frameCount(eventCount) },
    until: 'first byte'
  }
]

/** All calls together, for a key whose budget pays for some of them. */
export const budgetLane: HttpLane & { readonly calls: number } = {
  name: '250 calls at once on a budget',
  calls: 250,
  model: `wait-${waitMs}`,
  // Reserving more than the answer has would let less through than the budget pays for.
  body: provider => JSON.stringify({
    ...JSON.parse(requestBody(`wait-${waitMs}`, '1 KB', false, provider)) as object, max_tokens: eventCount
  }),
  expected: complete,
  until: 'end'
}
