/** A whole chat call in the process: every stage, and a provider that answers from memory. */

import { equal } from 'node:assert/strict'
import { Drains } from '../lib/drains.ts'
import { createTokenCounter } from '../lib/embeddings/token-counter.ts'
import { createToolServers } from '../lib/mcp/tool-servers.ts'
import { createModels } from '../lib/models/create-models.ts'
import { createProvider } from '../lib/providers/index.ts'
import { chat } from '../pipelines/chat.ts'
import { callOf } from './stages.bench.ts'
import { eventCount, frameCount, streamPieces, wholeAnswer, wholeText } from './support/answers.ts'
import { benchKey, benchSettings } from './support/settings.ts'
import type { Transport } from '../lib/providers/provider.ts'
import type { Reply } from '../lib/reply.ts'
import type { Scenario } from './support/scenario.ts'

const key = { id: 'key-bench', name: 'bench' }

/** @param pieces of the provider's answer, one network read each */
function pipelineTo (pieces: readonly Buffer[]): (streamed: boolean) => Promise<string> {
  const settings = benchSettings(0, 1)
  const transport: Transport = {
    send: async () => await Promise.resolve({
      status: 200,
      headers: {},
      body: {
        whole: async () => await Promise.resolve(Buffer.concat(pieces)),
        cancel: () => { /* nothing is held */ },
        async * [Symbol.asyncIterator] () { yield * pieces }
      }
    })
  }
  const handle = chat({
    settings,
    keys: { check: presented => presented === benchKey ? key : undefined },
    models: createModels(settings, new Set(['mock'])),
    providers: new Map(settings.providers.map(entry => [entry.id, createProvider(entry, transport)])),
    tools: createToolServers(settings),
    drains: new Drains(),
    tokens: createTokenCounter(),
    ready: () => true
  })
  return async streamed => await textOf(await handle(callOf('1 KB', streamed)))
}

async function textOf ({ body }: Reply): Promise<string> {
  if (typeof body === 'string' || body instanceof Uint8Array) return body.toString()
  let text = ''
  for await (const piece of body) text += piece.toString()
  return text
}

const whole = pipelineTo([Buffer.from(wholeAnswer)])

export const scenarios: readonly Scenario[] = [
  {
    name: 'pipeline: chat, whole answer, 1 KB both ways',
    per: 'call',
    count: 1,
    run: async () => await whole(false),
    check: result => equal(String(result).includes(wholeText), true)
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
