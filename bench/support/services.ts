/** A gateway's services inside the process, in front of a provider that answers from memory. */

import { AbandonedAnswers } from '../../lib/attempts/abandoned-answers.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { createTokenCounter } from '../../lib/embeddings/token-counter.ts'
import { LocalLimiter } from '../../lib/limits/limiter.ts'
import { createToolServers } from '../../lib/mcp/tool-servers.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { benchApiKey, benchKey, benchSettings } from './settings.ts'
import type { Transport } from '../../lib/providers/provider.ts'
import type { Reply } from '../../lib/core/reply.ts'
import type { Services } from '../../lib/services.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'

/**
 * @param pieces of the provider's answer, one network read each
 * @param provider its settings, if they matter
 */
export function servicesTo (pieces: readonly Buffer[], provider: Partial<ProviderSettings> = {}): Services {
  const all = benchSettings()
  const settings = { ...all, providers: all.providers.map(entry => ({ ...entry, ...provider })) }
  const transport: Transport = {
    send: async () => await Promise.resolve({
      status: 200,
      headers: {},
      body: {
        buffer: async () => await Promise.resolve(Buffer.concat(pieces)),
        cancel: () => { /** nothing is open */ },
        async * [Symbol.asyncIterator] () { yield * pieces }
      }
    })
  }
  const providers = new Map(settings.providers.map(entry => [entry.id, createProvider(entry, transport)]))
  return {
    settings,
    keys: { check: presented => presented === benchKey ? benchApiKey : undefined },
    models: createModels(settings, new Set(providers.keys())),
    providers,
    toolServers: createToolServers(settings),
    abandonedAnswers: new AbandonedAnswers(),
    routingState: new RoutingState(),
    tokenCounter: createTokenCounter(),
    limiter: new LocalLimiter(),
    ready: () => true
  }
}

/** Returns the body of a reply, read to its end. */
export async function textOf ({ body }: Reply): Promise<string> {
  if (typeof body === 'string' || body instanceof Uint8Array) return body.toString()
  let text = ''
  for await (const piece of body) text += piece.toString()
  return text
}
