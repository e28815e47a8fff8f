/** Has a model for moderation, at one of the configured providers, look at texts. */

import { GatewayError } from '../core/errors.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import type { Judge } from '../guards/text-judge.ts'
import type { Moderation, ModerationInput, Provider } from '../providers/provider.ts'
import type { Route } from '../core/route.ts'
import type { JudgeInput } from './judge-input.ts'

const maxAnswerBytes = 4 * 1024 * 1024

/** Refuses texts that the model puts into one of the categories. */
export function openModeration ({ settings: { model = '', categories }, services }: JudgeInput): Judge {
  const [providerId = ''] = model.split('/', 1)
  const route: Route = { providerId, modelId: model, model: model.slice(providerId.length + 1) }
  return {
    look: async (texts, { signal }) => {
      const provider = services().providers.get(providerId)
      if (provider === undefined) throw new Error(`there is no provider ${providerId}`)
      const request = { texts: texts.map(({ text }) => text) }
      const moderations = await moderate(provider, route, request, signal)
      const found = moderations.map(moderation =>
        moderation.categories.filter(name => categories?.includes(name) ?? true))
      const flagged = found.filter(names => names.length > 0)
      return flagged.length === 0
        ? {}
        : { refusal: `it was flagged as ${[...new Set(flagged.flat())].join(', ')}`, findings: flagged.length }
    }
  }
}

/** @throws GatewayError where the provider fails, Error where it has no such API */
async function moderate (
  provider: Provider,
  route: Route,
  request: ModerationInput,
  signal: AbortSignal
): Promise<readonly Moderation[]> {
  const adapter = provider.adapters.moderation
  if (adapter === undefined) throw new Error(`the provider ${provider.id} has no API for moderations`)
  const input = { request, route, quirks: provider.quirks, streamed: false }
  const response = await provider.transport.send(adapter.request(input), {
    signal,
    credential: provider.authorize(),
    timeouts: provider.timeouts,
    streamed: false
  })
  const text = (await response.body.buffer(maxAnswerBytes)).toString()
  if (response.status !== 200) {
    throw new GatewayError('upstream_error', { cause: `status ${response.status} of the moderation API` })
  }
  const reader = adapter.read(response, input)
  if (reader.as !== 'json') throw new Error('the adapter for moderations reads no JSON')
  const [event] = reader.read(parseBounded(text))
  if (event === undefined) throw new Error('the moderation API has no result')
  return event.result
}
