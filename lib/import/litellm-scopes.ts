/** Reads what keys of LiteLLM may use: models by names and groups, endpoints by addresses. */

import { entriesOf, objectOrEmpty } from './values.ts'
import { isPattern, patternFinder } from '../models/name-patterns.ts'
import { endpointNames } from '../../schemas/endpoints.ts'
import { listOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'

const allModels: ReadonlySet<string> = new Set(['all-proxy-models', 'all-team-models', '*'])
const noModels = 'no-default-models'

export interface ModelScope {
  /** Absent: all. */
  readonly models?: readonly string[]
  /** Names that no model has. */
  readonly unknown: readonly string[]
}

/** Names of models that stand for others in the lists of keys. */
export class ModelScopes {
  /** Names of `model_list`. */
  readonly #names: readonly string[]
  readonly #groups = new Map<string, string[]>()
  /** The targets of names with `*`. */
  readonly #targets = new Map<string, string>()

  /**
   * @param file the configuration of LiteLLM, with the models of its database
   * @param models the section of the configuration created from it
   */
  constructor (file: JsonObject, models: unknown) {
    const entries = listOf(file['model_list']).map(objectOrEmpty)
    this.#names = [...new Set(entries.flatMap(entry => nonEmptyText(entry['model_name']) ?? []))]
    for (const entry of entries) {
      const name = nonEmptyText(entry['model_name'])
      for (const group of listOf(objectOrEmpty(entry['model_info'])['access_groups'])) {
        if (name === undefined) continue
        this.#groups.set(String(group), [...this.#groups.get(String(group)) ?? [], name])
      }
    }
    for (const [name, entry] of entriesOf(models)) {
      const target = nonEmptyText(objectOrEmpty(entry)['alias'])
      if (name.includes('*') && target !== undefined) this.#targets.set(name, target)
    }
  }

  /** Reads a list of names, groups and patterns. */
  read (list: readonly string[]): ModelScope {
    if (list.length === 0 || list.some(name => allModels.has(name))) return { unknown: [] }
    return {
      models: [...new Set(list.flatMap(name => this.#named(name)))],
      unknown: list.filter(name => name !== noModels && !this.#groups.has(name) && !this.#isServed(name))
    }
  }

  #isServed (name: string): boolean {
    return (
      this.#names.includes(name) ||
      patternFinder(this.#names.filter(isPattern))(name) !== undefined ||
      (isPattern(name) && this.#names.some(each => patternFinder([name])(each) !== undefined))
    )
  }

  #named (name: string): readonly string[] {
    if (name === noModels) return []
    const group = this.#groups.get(name)
    // A member is a model, also where a group has its name.
    return group === undefined ? this.#modelsOf(name) : group.flatMap(member => this.#modelsOf(member))
  }

  /** Lists a model, or the models that a pattern stands for. */
  #modelsOf (name: string): readonly string[] {
    if (!isPattern(name)) return [name]
    const isNamed = patternFinder([name])
    const target = this.#targets.get(name)
    const matching = this.#names.filter(each => isNamed(each) !== undefined)
    return [name, ...target === undefined ? [] : [target], ...matching]
  }
}

/** Groups of addresses: absent here are those of administration. */
const routeGroups: Readonly<Record<string, readonly string[]>> = {
  llm_api_routes: endpointNames,
  openai_routes: endpointNames,
  anthropic_routes: ['messages'],
  info_routes: ['models'],
  model_info_routes: ['models']
}

const addresses: ReadonlyArray<readonly [pattern: RegExp, endpoint: string]> = [
  [/\/chat\/completions$/, 'chat'],
  [/(?<!\/chat)\/completions$/, 'completions'],
  [/\/messages(?:\/count_tokens)?$/, 'messages'],
  [/\/responses(?:\/|$)/, 'responses'],
  [/\/embeddings$/, 'embeddings'],
  [/\/audio\/speech$/, 'speech'],
  [/\/audio\/transcriptions$/, 'transcriptions'],
  [/\/audio\/translations$/, 'translations'],
  [/\/images\/(?:generations|edits)$/, 'images'],
  [/\/ocr$/, 'ocr'],
  [/\/models?(?:\/|$)/, 'models']
]

export interface RouteScope {
  /** Absent means all. */
  readonly endpoints?: readonly string[]
  /** Addresses that nothing here serves. */
  readonly unknown: readonly string[]
}

/** Reads `allowed_routes`. */
export function endpointsOf (routes: readonly string[]): RouteScope {
  if (routes.length === 0) return { unknown: [] }
  const known = routes.map(route => [route, endpointsAt(route)] as const)
  const endpoints = new Set(known.flatMap(([, names]) => names))
  const unknown = known.filter(([, names]) => names.length === 0).map(([route]) => route)
  if (endpointNames.every(name => endpoints.has(name))) return { unknown }
  return { endpoints: [...endpoints], unknown }
}

function endpointsAt (route: string): readonly string[] {
  const group = routeGroups[route]
  if (group !== undefined) return group
  if (/^(?:\/v1)?\/\*$|^\*$/.test(route)) return endpointNames
  return addresses.flatMap(([pattern, name]) => (pattern.test(route.replace(/\/\*$/, '')) ? name : []))
}
