import { isObject, nonEmptyText, type JsonObject } from '../json/guards.ts'
import type { ModelEntry } from '../core/model.ts'

/** The facts that a provider's list contains about a model. */
export type ListedFacts = Partial<
  Pick<ModelEntry, 'createdAt' | 'displayName' | 'description' | 'capabilities'>
>

export interface ListedModel {
  /** The name at the provider; anything but a text is passed over. */
  readonly id: unknown
  readonly facts: ListedFacts
}

/** The way in which the servers of a dialect list their models. */
export interface ModelList {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** @throws Error for a body that holds no list */
  readonly read: (body: unknown) => ListedModel[]
}

/**
 * Returns the objects of the list under that name.
 *
 * @throws Error when there is none
 */
export function listIn (body: unknown, name: string): JsonObject[] {
  const list = isObject(body) ? body[name] : undefined
  if (!Array.isArray(list)) throw new Error(`The answer has no list "${name}".`)
  return list.filter(isObject)
}

/** Returns a text as a fact; none for anything else. */
export function textFact (value: unknown, name: 'displayName' | 'description'): ListedFacts {
  const text = nonEmptyText(value)
  return text === undefined ? {} : { [name]: text }
}
