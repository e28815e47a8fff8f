/**
 * Decides which models a key may use, by the model that will be called.
 *
 * A pattern of `ApiKey.models` is a model id, a provider with `/*` for all its models, or `*`. Keys of
 * another gateway may have a `*` elsewhere behind the provider (`anthropic/claude-*`). A pattern equal to the
 * name of an alias or a configured route also allows the models behind that name. Any other pattern does not,
 * since the name may begin like a provider and mean a model of another one.
 */

import { wildcardsIn } from './name-patterns.ts'
import type { ApiKey } from '../core/key.ts'

/** Returns whether a key may use the model with this id. A key without patterns may use every model. */
export function mayUseModel ({ models }: ApiKey, modelId: string): boolean {
  if (models === undefined) return true
  return models.some(pattern => covers(pattern, modelId))
}

/** Wildcards count behind the name of a provider only: `open*` covers no model of `openai`. */
function covers (wide: string, narrow: string): boolean {
  if (wide === narrow || wide === '*') return true
  const slash = wide.indexOf('/')
  return slash !== -1 && wide.indexOf('*') > slash && wildcardsIn(wide, narrow) !== undefined
}

/** Returns whether a key lists this very name, which allows every model the name refers to. */
export function listsName ({ models }: ApiKey, name: string): boolean {
  return models === undefined || models.includes(name)
}

/**
 * Returns the patterns that two lists share; an absent list allows everything. A name of an alias or a route
 * is only matched by itself or by `*`.
 */
export function commonModels (
  models: readonly string[] | undefined,
  others: readonly string[] | undefined
): readonly string[] | undefined {
  if (models === undefined || others === undefined) return models ?? others
  const common = models.flatMap(model =>
    others.flatMap(other => (covers(other, model) ? [model] : covers(model, other) ? [other] : []))
  )
  return [...new Set(common)]
}
