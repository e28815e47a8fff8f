/** Reads the lists of models of providers. */

import { isObject, nonEmptyText, type JsonObject } from '../json/type-guards.ts'
import type { ModelEntry } from '../core/model.ts'

/** Facts about a model in a provider's list. */
export type ListedFacts = Partial<
  Pick<ModelEntry, 'createdAt' | 'displayName' | 'description' | 'capabilities'>
>

export interface ListedModel {
  /** The provider's name for the model; anything but a string is skipped. */
  readonly id: unknown
  readonly facts: ListedFacts
}

/** How the servers of a dialect list their models. */
export interface ModelList {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** @throws Error if the body has no list */
  readonly read: (body: unknown) => ListedModel[]
}

/**
 * Returns the objects of the named list.
 *
 * @throws Error if there is none
 */
export function listIn (body: unknown, name: string): JsonObject[] {
  const list = isObject(body) ? body[name] : undefined
  if (!Array.isArray(list)) throw new Error(`The answer has no list "${name}".`)
  return list.filter(isObject)
}

/** Returns a string as a fact; nothing for other values. */
export function textFact (value: unknown, name: 'displayName' | 'description'): ListedFacts {
  const text = nonEmptyText(value)
  return text === undefined ? {} : { [name]: text }
}
