/** Checks model names in `models`, `routes` and the scopes of keys. */

import { providerLabels, type ProviderKind } from '../../schemas/providers.ts'
import type { Config } from '../../schemas/config.ts'
import { capabilityNames } from '../../schemas/catalogue.ts'
import { nearestWord } from '../text/nearest-word.ts'
import { sandboxModels } from '../sandbox/sandbox-models.ts'
import { kindOf, kinds, simulatorId } from '../providers/kinds.ts'
import { isPattern } from '../models/name-patterns.ts'
import { ModelSettings } from '../../schemas/chat.ts'
import { explain } from '../validation/explain.ts'
import { routeTargets } from './route-targets.ts'
import type { ModelEntry } from '../core/model.ts'
import type { Path } from './path.ts'
import type { Report } from './report.ts'

export interface KnownNames {
  /** Every configured provider, including those with invalid entries. */
  readonly providerNames: readonly string[]
  /** The models of the catalogue. */
  readonly catalogue: readonly ModelEntry[]
}

/**
 * Reports names that refer to nothing or to themselves. Warns about names that the catalogue does not list
 * for a provider it covers.
 */
export function checkModels (config: Config, known: KnownNames, report: Report): void {
  const { models, routes, keys } = config
  const names = new ModelNames(config, known)
  const steps = stepsOf(config)
  const checkTarget = (path: Path, name: string, target: string): void => {
    if (reachedFrom(target, steps).has(name)) report.add(path, 'refers back to itself')
    else names.check(path, target, report)
  }

  for (const [id, { alias, hidden: _, ...changes }] of Object.entries(models)) {
    const path = ['models', id]
    if (Object.hasOwn(routes, id)) report.add(['routes', id], 'is also the name of a model', { part: 'name' })
    if (alias !== undefined) {
      if (alias.split('*').length > id.split('*').length) {
        report.add(
          [...path, 'alias'],
          'has more wildcards than its name: each `*` stands for what one in the name matched'
        )
      }
      checkTarget([...path, 'alias'], id, alias)
      if (names.isOff(alias)) {
        report.warn([...path, 'alias'], 'belongs to a disabled provider, so it is never tried')
      }
      for (const name of Object.keys(changes)) {
        report.add([...path, name], 'cannot be combined with alias', { part: 'name' })
      }
      continue
    }
    checkCapabilities(path, changes.capabilities, report)
    const message = 'must begin with the id of a provider and a slash, or be an alias'
    if (id.includes('/')) names.checkProvider(path, id, report, 'name')
    else report.add(path, message, { part: 'name', unless: [...path, 'alias'] })
  }
  for (const [name, entry] of Object.entries(routes)) {
    const strategy = Array.isArray(entry) ? undefined : entry.strategy
    for (const { id, path, weight = 1, settings } of routeTargets(name, entry)) {
      if (weight !== 1 && strategy !== 'weighted') {
        report.warn([...path, 'weight'], 'has no effect: only `strategy: weighted` uses it', { part: 'name' })
      }
      if (isPattern(id)) report.add(path, 'must name one model: only aliases may have wildcards')
      checkTarget(path, name, id)
      if (settings !== undefined) checkSettings([...path, 'settings'], settings, report)
    }
    if (!Array.isArray(entry) && entry.mirror !== undefined) {
      names.check(['routes', name, 'mirror', 'model'], entry.mirror.model, report)
    }
    const ends = [...reachedFrom(name, steps)].filter(id => !steps.has(id))
    if (ends.length > 0 && ends.every(id => names.isOff(id))) {
      report.warn(['routes', name], 'refers only to disabled providers', { part: 'name' })
    } else {
      for (const { id, path } of routeTargets(name, entry)) {
        if (names.isOff(id)) report.warn(path, 'belongs to a disabled provider, so it is never tried')
      }
    }
  }
  for (const [index, { models: patterns = [] }] of keys.entries()) {
    names.checkPatterns(['keys', index, 'models'], patterns, report)
  }
}

/** Reports problems with the models of a key. */
export function checkModelScope (
  path: Path,
  patterns: readonly string[],
  config: Config,
  known: KnownNames,
  report: Report
): void {
  new ModelNames(config, known).checkPatterns(path, patterns, report)
}

const limits = ['input_token_limit', 'output_token_limit']
const capabilities: readonly string[] = [...capabilityNames, ...limits]

function checkCapabilities (
  path: Path,
  given: Config['models'][string]['capabilities'] = {},
  report: Report
): void {
  for (const [name, value] of Object.entries(given)) {
    const at = [...path, 'capabilities', name]
    if (!capabilities.includes(name)) {
      report.add(at, `must be one of ${capabilities.join(', ')}`, {
        part: 'name',
        suggestion: nearestWord(name, capabilities)
      })
    } else if (limits.includes(name) && !(Number.isInteger(value) && Number(value) > 0)) {
      report.add(at, 'must be an integer')
    } else if (!limits.includes(name) && typeof value !== 'boolean') {
      report.add(at, 'must be true or false')
    }
  }
}

/** Reports settings that no request could have for a model. */
function checkSettings (path: Path, given: Readonly<Record<string, unknown>>, report: Report): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(ModelSettings.properties, name) && name !== 'attributes') continue
    report.add([...path, name], 'cannot be set for one model of a route', {
      part: 'name',
      suggestion: nearestWord(name, Object.keys(ModelSettings.properties))
    })
  }
  for (const { loc, msg } of explain(ModelSettings, given, { loc: [] })) {
    report.add([...path, ...loc], `is not valid in a request: ${msg}`)
  }
  if (given['top_logprobs'] !== undefined && given['logprobs'] !== true) {
    report.add([...path, 'top_logprobs'], 'requires logprobs: true')
  }
}

/** Lists what each configured name refers to. */
function stepsOf ({ models, routes }: Config): ReadonlyMap<string, readonly string[]> {
  const steps = new Map<string, readonly string[]>()
  for (const [name, entry] of Object.entries(routes)) {
    steps.set(
      name,
      routeTargets(name, entry).map(({ id }) => id)
    )
  }
  for (const [id, { alias }] of Object.entries(models)) if (alias !== undefined) steps.set(id, [alias])
  return steps
}

/** Collects all names reachable from a name, including itself. */
function reachedFrom (name: string, steps: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const seen = new Set([name])
  for (const each of seen) for (const next of steps.get(each) ?? []) seen.add(next)
  return seen
}

/** What the name of a model reveals about it. */
class ModelNames {
  readonly #config: Config
  /** Valid prefixes, in this environment or another. */
  readonly #prefixes: ReadonlySet<string>
  /** Ids by prefix, for providers with a complete list. */
  readonly #lists = new Map<string, ReadonlySet<string>>()
  readonly #own: ReadonlySet<string>

  constructor (config: Config, { providerNames, catalogue }: KnownNames) {
    this.#config = config
    // A provider may be enabled in one environment only; its models are no mistake.
    this.#prefixes = new Set([...providerLabels, simulatorId, ...providerNames])
    this.#own = new Set([...Object.keys(config.models), ...Object.keys(config.routes)])
    for (const [id, { kind, list_models: listed }] of Object.entries(config.providers)) {
      const known = knownModels(kindOf(id, kind), catalogue)
      const lists = listed ?? kinds[kindOf(id, kind)].listModels
      if (known.length > 0 && !lists) this.#lists.set(id, new Set(known.map(name => `${id}/${name}`)))
    }
  }

  /** Checks a name that calls are sent to; of one with wildcards, only its provider. */
  check (path: Path, id: string, report: Report): void {
    if (this.#own.has(id)) return
    if (!id.includes('/')) {
      if (!isPattern(id)) this.#checkBare(path, id, report)
    } else if (this.checkProvider(path, id, report, 'value') && !isPattern(id)) {
      this.#checkListed(path, id, report)
    }
  }

  /** True for a model of a provider that is not enabled. */
  isOff (id: string): boolean {
    return this.#config.providers[id.slice(0, id.indexOf('/'))]?.enabled === false
  }

  /** True if the prefix of an id is that of a provider. */
  checkProvider (path: Path, id: string, report: Report, part: 'name' | 'value'): boolean {
    const slash = id.indexOf('/')
    const prefix = id.slice(0, slash)
    if (this.#prefixes.has(prefix)) return true
    const meant = nearestWord(prefix, this.#prefixes)
    report.add(path, 'names a provider that is not configured', {
      part, suggestion: meant === undefined ? undefined : meant + id.slice(slash)
    })
    return false
  }

  checkPatterns (path: Path, patterns: readonly string[], report: Report): void {
    for (const [position, pattern] of patterns.entries()) {
      this.#checkPattern([...path, position], pattern, report)
    }
  }

  #checkPattern (path: Path, pattern: string, report: Report): void {
    if (pattern === '*') return
    if (pattern.endsWith('/*')) this.checkProvider(path, pattern, report, 'value')
    else if (pattern.includes('*')) report.add(path, 'only `*` and `provider/*` are patterns')
    else this.check(path, pattern, report)
  }

  #checkListed (path: Path, id: string, report: Report): void {
    const list = this.#lists.get(id.slice(0, id.indexOf('/')))
    if (list === undefined || list.has(id)) return
    report.warn(path, 'is not in the catalogue; its provider may know it', {
      suggestion: nearestWord(id, list)
    })
  }

  /** Checks a name without prefix, which must belong to exactly one provider. */
  #checkBare (path: Path, name: string, report: Report): void {
    const lists = [...this.#lists.values()]
    const allListed = Object.keys(this.#config.providers).every(id => this.#lists.has(id))
    const owners = lists.filter(list =>
      [...list].some(id => id.endsWith(`/${name}`) && id.split('/').length === 2)
    )
    const own = [...this.#own].some(id => id.endsWith(`/${name}`))
    if (owners.length > 0 || own || !allListed) return
    const bare = lists.flatMap(list => [...list].map(id => id.slice(id.indexOf('/') + 1)))
    report.add(path, 'is unknown to every enabled provider', {
      suggestion: nearestWord(name, [...bare, ...this.#own])
    })
  }
}

/** Lists the known models of a provider kind, without prefix; none if only the provider knows them. */
function knownModels (kind: ProviderKind, catalogue: readonly ModelEntry[]): string[] {
  const models =
    kinds[kind].inProcess === 'simulator'
      ? sandboxModels
      : catalogue.filter(({ providerId }) => providerId === kind)
  return models.map(({ id }) => id.slice(id.indexOf('/') + 1))
}
