/**
 * Creates the models service, which answers from an index. The index is computed whenever its sources change:
 * at start-up and after reading a provider's own list. A lookup in a call then costs one `Map.get`.
 *
 * If several entries have the same name, `routes:` override aliases, aliases override ids, and ids override
 * names without a prefix. An alias with a `*` (`claude-*`) stands for all names that are none of these.
 */

import type { ProviderKind } from '../../schemas/providers.ts'
import type { Route } from '../core/route.ts'
import type { RouteSettings, Settings } from '../core/settings.ts'
import type { ModelEntry } from '../core/model.ts'
import { kinds as kindTable } from '../providers/kinds.ts'
import { memoized } from '../text/memoized.ts'
import { nearestWord } from '../text/nearest-word.ts'
import { catalogueOf } from './catalogue.ts'
import { collectModels, kindsById, modelOfSnapshot, snapshotOf } from './known-models.ts'
import { withoutDate } from './dated-names.ts'
import { fillPattern, isPattern, patternFinder } from './name-patterns.ts'
import { orderForCall, orderRoutes, type OrderingInputs } from './route-strategies.ts'
import { familyTraits } from './traits.ts'
import type { ModelRegistry } from './model-registry.ts'

export interface UpdatableModelRegistry extends ModelRegistry {
  /** The models that providers list, by provider. */
  readonly discovered: ReadonlyMap<string, readonly ModelEntry[]>
  /** Replaces the models that a provider lists. */
  readonly setDiscovered: (providerId: string, models: readonly ModelEntry[]) => void
}

/**
 * Creates the models service.
 *
 * @param enabled ids of the providers the gateway may use
 * @param extra models that providers add, such as those of the sandbox
 * @param inputs what orders routes by weight and by speed. Default: random, with unknown speed
 * @throws Error when a `models:` entry names an unknown provider
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
    routes: (id, streamed = false, session) => {
      const routes = index.resolve(id)
      const ranked = routes[0]?.ranked
      return ranked === undefined
        ? routes
        : orderForCall(routes, streamed, inputs, ranked.bySession === true ? session?.() : undefined)
    },

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
    discovered,

    setDiscovered (providerId, models) {
      discovered.set(providerId, models)
      index = rebuild()
    }
  }
}

export interface ModelIndex {
  /**
   * Returns the routes of an id, alias, route name or name without prefix; otherwise one to the enabled
   * provider of the prefix; otherwise none.
   */
  readonly resolve: (id: string) => readonly Route[]
  /** Returns the route to a model of any provider, unless the operator disabled the model. */
  readonly routeTo: (providerId: string, model: string) => Route | undefined
  /**
   * Returns what is known of a model by id, including snapshots and models of providers without a credential.
   */
  readonly find: (id: string) => ModelEntry | undefined
  /** All names that refer to a model. */
  readonly names: () => Iterable<string>
  readonly listed: readonly ModelEntry[]
  /** Names without a prefix, and the ids that end in them. */
  readonly idsByName: ReadonlyMap<string, readonly string[]>
}

/**
 * @param entries every known model by id.
 * @param enabled ids of the providers the gateway may use.
 */
export function buildIndex (
  entries: ReadonlyMap<string, ModelEntry>,
  settings: Settings,
  enabled: ReadonlySet<string>
): ModelIndex {
  const kinds = kindsById(settings)
  const disabled = disabledIds(entries)
  const usable = [...entries.values()]
    .filter(({ id, providerId }) => enabled.has(providerId) && !disabled.has(id))
  const idsByName = groupIdsByName(byPreference(usable, settings, kinds))
  const variantOf = variantFinder(entries)
  const find = modelFinder(entries)
  const routeOf = routeMaker(settings, variantOf)
  const ownerOf = ownerFinder(kinds, enabled)
  const patterns = aliasPatterns(settings)
  const patternOf = patternFinder(patterns.keys())
  const { families } = catalogueOf(settings)
  const routeTo = (providerId: string, model: string): Route | undefined => {
    const modelId = `${providerId}/${model}`
    const entry = find(modelId)
    const isDisabled =
      entry?.status === 'disabled' ||
      disabled.has(modelId) ||
      (entry === undefined && disabled.has(variantOf(modelId) ?? ''))
    if (isDisabled || !isModelName(model)) return undefined
    const traits = familyTraits(families, kinds.get(providerId), model)
    return routeOf(entry ?? { id: modelId, providerId, model, traits })
  }
  const routes = routesByName(idsByName, ids => preferred(ids, entries, kinds), routeOf)
  for (const entry of usable) routes.set(entry.id, [routeOf(entry)])
  const withoutPatterns = (id: string): readonly Route[] => {
    const existing = routes.get(id)
    if (existing !== undefined) return existing
    const slash = id.indexOf('/')
    const providerId = slash === -1 ? ownerOf(id) : id.slice(0, slash)
    const model = id.slice(slash + 1)
    const route =
      model !== '' && providerId !== undefined && enabled.has(providerId)
        ? routeTo(providerId, model)
        : undefined
    return route === undefined ? [] : [route]
  }
  const unlisted = memoized((id: string): readonly Route[] => {
    let name = id
    const passed = new Set<string>()
    for (;;) {
      const pattern = patternOf(name)
      if (pattern === undefined || passed.has(pattern)) return withoutPatterns(name)
      const target = patterns.get(pattern) ?? ''
      if (!isPattern(target)) return routes.get(pattern) ?? []
      passed.add(pattern)
      name = fillPattern(pattern, target, name)
      const existing = routes.get(name)
      if (existing !== undefined) return existing
      // If the target's provider is off, no other alias may take the name.
      const namesProvider = /^[^*]+\//.test(target) && !patterns.has(target)
      const prefix = name.slice(0, Math.max(0, name.indexOf('/')))
      if (namesProvider || enabled.has(prefix)) return withoutPatterns(name)
    }
  })
  const resolve = (id: string): readonly Route[] => routes.get(id) ?? unlisted(id)

  for (const [name, targets] of resolveAliases(settings, entries, withoutPatterns)) {
    const isFilled = isPattern(patterns.get(name) ?? '')
    if (targets.length > 0 && !isFilled) routes.set(name, targets)
    else routes.delete(name)
  }
  for (const name of unaliased(idsByName.keys(), settings)) {
    if (patternOf(name) !== undefined) routes.delete(name)
  }

  const names = () => [...routes.keys()].filter(name => !isPattern(name))
  return { resolve, routeTo, find, names, listed: listedModels(usable, settings), idsByName }
}

/** Returns the ids of models that the operator disabled, also in their providers' spelling. */
function disabledIds (entries: ReadonlyMap<string, ModelEntry>): ReadonlySet<string> {
  const disabled = new Set<string>()
  for (const { id, providerId, model, status } of entries.values()) {
    if (status === 'disabled') disabled.add(id).add(`${providerId}/${model}`)
  }
  return disabled
}

/**
 * Returns a function that finds the known id of a model under another spelling: with a date, or in another
 * letter case, which some servers accept.
 */
function variantFinder (entries: ReadonlyMap<string, ModelEntry>): (id: string) => string | undefined {
  const idByLetters = new Map([...entries.keys()].map(id => [id.toLowerCase(), id]))
  return id => {
    const same = entries.has(id) ? undefined : idByLetters.get(id.toLowerCase())
    const undated = withoutDate(id)
    if (same !== undefined || undated === undefined) return same
    return entries.has(undated) ? undated : idByLetters.get(undated.toLowerCase())
  }
}

/** Returns a function that finds models by id, snapshots included. */
function modelFinder (entries: ReadonlyMap<string, ModelEntry>): ModelIndex['find'] {
  const snapshot = memoized((id: string): ModelEntry | undefined => {
    const base = modelOfSnapshot(id, entries)
    return base === undefined ? undefined : snapshotOf(base, id)
  })
  return id => entries.get(id) ?? snapshot(id)
}

/** What a route tells about its model. */
type RoutedModel = Pick<ModelEntry, 'id' | 'providerId' | 'model' | 'traits'>

/** Returns a function that creates the route to a model. */
function routeMaker (
  { providers }: Settings,
  variantOf: (id: string) => string | undefined
): (model: RoutedModel) => Route {
  const marking = new Set(providers.filter(({ cacheMarks }) => cacheMarks === 'auto').map(({ id }) => id))
  return ({ id, providerId, model, traits }) => {
    const variant = variantOf(id)
    return {
      providerId, model, modelId: id,
      ...variant !== undefined && { variantOf: variant },
      ...traits !== undefined && { traits },
      ...traits?.minCachedTokens !== undefined && marking.has(providerId) &&
        { minMarkedTokens: traits.minCachedTokens }
    }
  }
}

/**
 * Returns a function that finds the only provider whose models have names like the given one, even if the
 * catalogue does not list that model yet.
 */
function ownerFinder (
  kinds: ReadonlyMap<string, ProviderKind>,
  enabled: ReadonlySet<string>
): (name: string) => string | undefined {
  return name => {
    const owners = [...kinds].filter(
      ([id, kind]) => enabled.has(id) && kindTable[kind].ownNames?.test(name) === true
    )
    return (owners.find(([id, kind]) => id === kind) ?? owners[0])?.[0]
  }
}

/** Returns the target of each alias whose name has wildcards. */
function aliasPatterns ({ models }: Settings): ReadonlyMap<string, string> {
  return new Map(models.flatMap(({ alias, id }) => alias !== undefined && isPattern(id) ? [[id, alias]] : []))
}

/** Returns the names that no configured alias or route has. */
function unaliased (names: Iterable<string>, settings: Settings): readonly string[] {
  const aliases = new Set([
    ...settings.models.map(({ id }) => id),
    ...settings.routes.map(({ name }) => name)
  ])
  return [...names].filter(name => !aliases.has(name))
}

/** Returns the models that lists show, by id. */
function listedModels (usable: readonly ModelEntry[], { models }: Settings): readonly ModelEntry[] {
  const hidden = new Set(models.filter(model => model.hidden).map(model => model.id))
  return usable
    .filter(entry => !hidden.has(entry.id))
    .toSorted((a, b) => a.id < b.id ? -1 : 1)
}

/**
 * Sorts models by their providers: those named after their kind first, then in the order of the
 * configuration. The order in which providers list their models is ignored, since it differs with each start.
 */
function byPreference (
  models: readonly ModelEntry[],
  { providers }: Pick<Settings, 'providers'>,
  kinds: ReadonlyMap<string, ProviderKind>
): readonly ModelEntry[] {
  const positions = new Map(providers.map(({ id }, index) => [id, index]))
  const positionOf = ({ providerId }: ModelEntry): number =>
    kinds.get(providerId) === providerId ? -1 : (positions.get(providerId) ?? providers.length)
  return models.toSorted((a, b) => positionOf(a) - positionOf(b))
}

/**
 * Chooses the model for a name without prefix: the only one with that name; of several at providers of one
 * kind, the first by preference.
 */
function preferred (
  ids: readonly string[], entries: ReadonlyMap<string, ModelEntry>, kinds: ReadonlyMap<string, ProviderKind>
): ModelEntry | undefined {
  const [first, ...others] = ids.flatMap(id => entries.get(id) ?? [])
  const kindOf = ({ providerId }: ModelEntry): ProviderKind | undefined => kinds.get(providerId)
  return first !== undefined && others.every(other => kindOf(other) === kindOf(first)) ? first : undefined
}

/** Returns the route of each name without prefix that identifies one model. */
function routesByName (
  idsByName: ReadonlyMap<string, readonly string[]>,
  modelOf: (ids: readonly string[]) => ModelEntry | undefined,
  routeOf: (entry: ModelEntry) => Route
): Map<string, readonly Route[]> {
  const routes = new Map<string, readonly Route[]>()
  for (const [name, ids] of idsByName) {
    const model = modelOf(ids)
    if (model !== undefined) routes.set(name, [routeOf(model)])
  }
  return routes
}

/** Follows aliases and nested routes. Of a nested route, only the models are used. */
function resolveAliases (
  { models, routes }: Settings,
  entries: ReadonlyMap<string, ModelEntry>,
  resolved: (id: string) => readonly Route[]
): ReadonlyMap<string, readonly Route[]> {
  const steps = new Map<string, string | RouteSettings>(routes.map(route => [route.name, route]))
  for (const { id, alias } of models) if (alias !== undefined && !steps.has(id)) steps.set(id, alias)

  const found = new Map<string, readonly Route[]>()
  const follow = (name: string): readonly Route[] => {
    const next = steps.get(name)
    if (next === undefined) return resolved(name)
    const cached = found.get(name)
    if (cached !== undefined) return cached
    found.set(name, []) // a cycle refers to nothing
    const targets = typeof next === 'string' ? follow(next) : orderRoutes(next, follow, entries)
    found.set(name, targets)
    return targets
  }
  for (const name of steps.keys()) follow(name)
  return found
}

/**
 * Returns false for a name with surrounding white space or invisible characters, which a server may read as
 * another name, and for one with a lone surrogate, which JSON allows and a URL does not.
 */
function isModelName (name: string): boolean {
  return name.isWellFormed() && !/^\s|\s$|\p{Cc}|\p{Cf}/u.test(name)
}

/**
 * Ids by name. Names with a slash (`openai/gpt-oss-120b` at Groq) are left out: without their prefix they
 * would look like a model of another provider.
 */
function groupIdsByName (models: readonly ModelEntry[]): Map<string, string[]> {
  const idsByName = new Map<string, string[]>()
  for (const { id } of models) {
    const name = id.slice(id.indexOf('/') + 1)
    if (name.includes('/')) continue
    const ids = idsByName.get(name)
    if (ids === undefined) idsByName.set(name, [id])
    else ids.push(id)
  }
  return idsByName
}
