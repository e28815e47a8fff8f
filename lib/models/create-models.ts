/**
 * Creates the models service, which answers from an index that is built anew whenever what is known changes,
 * which is at start-up and when a provider's own list has been read.
 */

import type { Route } from '../core/route.ts'
import { nearestWord } from '../text/nearest-word.ts'
import type { Settings } from '../core/settings.ts'
import { collectModels } from './known-models.ts'
import { buildIndex } from './model-index.ts'
import { orderForCall, type OrderingInputs } from './route-strategies.ts'
import type { ModelEntry } from '../core/model.ts'
import type { ModelRegistry } from './model-registry.ts'

export interface UpdatableModelRegistry extends ModelRegistry {
  /** Takes over what a provider lists, in place of what it listed before. */
  readonly setDiscovered: (providerId: string, models: readonly ModelEntry[]) => void
}

/**
 * Makes the models service.
 *
 * @param enabled ids of the providers the gateway may use.
 * @param extra models that providers bring along, such as those of the sandbox.
 * @param inputs what routes by weight and by speed are ordered by. Default: chance, and no speed is known
 * @throws Error when a `models:` entry names a provider that does not exist.
 */
export function createModels (
  settings: Settings,
  enabled: ReadonlySet<string>,
  extra: readonly ModelEntry[] = [],
  inputs: OrderingInputs = { random: Math.random, latency: () => undefined }
): UpdatableModelRegistry {
  const discovered = new Map<string, readonly ModelEntry[]>()
  const rebuild = () =>
    buildIndex(collectModels({ settings, extra, discovered }), settings, enabled)
  let index = rebuild()

  return {
    routes: (id, streamed = false, session) => orderForCall(index.resolve(id), streamed, inputs, session),

    routeTo (providerId, model): Route | undefined {
      const prefix = `${providerId}/`
      return index.routeTo(providerId, model.startsWith(prefix) ? model.slice(prefix.length) : model)
    },

    suggest (id) {
      const name = id.slice(id.indexOf('/') + 1)
      const owner = (known: string | undefined) => index.idsByName.get(known ?? '')?.[0]
      return owner(name) ?? nearestWord(id, index.names()) ?? owner(nearestWord(name, index.idsByName.keys()))
    },

    find: id => index.find(id),

    list: () => index.listed,

    setDiscovered (providerId, models) {
      discovered.set(providerId, models)
      index = rebuild()
    }
  }
}
