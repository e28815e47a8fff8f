/** Inspects texts with a moderation model of a configured provider. */

import { areLarge, askProvider, routeOf } from './ask-provider.ts'
import type { Judge } from '../guards/text-judge.ts'
import type { JudgeInput } from './judge-input.ts'

/** Opens a guard that refuses texts in any of the given categories. */
export function openModeration ({ settings: { model = '', categories }, services }: JudgeInput): Judge {
  const route = routeOf(model)
  const { providerId } = route
  return {
    inspect: async (texts, { call: { key: { id: keyId } }, signal }) => {
      const provider = services().providers.get(providerId)
      if (provider === undefined) throw new Error(`there is no provider ${providerId}`)
      const adapter = provider.adapters.moderation
      if (adapter === undefined) throw new Error(`the provider ${providerId} has no moderation API`)
      const request = { texts: texts.map(({ text }) => text) }
      const asked = { request, route, isLarge: areLarge(texts) }
      const [event] = await askProvider(provider, adapter, asked, { keyId, signal })
      if (event === undefined) throw new Error('the moderation API returned no result')
      const found = event.result.map(moderation =>
        moderation.categories.filter(name => categories?.includes(name) ?? true))
      const flagged = found.filter(names => names.length > 0)
      return flagged.length === 0
        ? {}
        : {
            refusal: `it was flagged as ${[...new Set(flagged.flat())].join(', ')}`,
            findings: flagged.length
          }
    }
  }
}
