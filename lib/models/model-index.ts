/**
 * Everything lookups need, worked out beforehand: a call then costs one `Map.get`.
 *
 * When two things have one name, `routes:` win over aliases, aliases over ids, and ids over names
 * without a prefix.
 */

import type { Route } from '../core/route.ts'
import type { RouteSettings, Settings } from '../core/settings.ts'
import { orderRoutes } from '../routing/route-strategies.ts'
import type { ModelEntry } from '../core/model.ts'

export interface ModelIndex {
  /** By whatever a caller may write: id, alias, route name, name without prefix. */
  readonly routes: ReadonlyMap<string, readonly Route[]>
  /** Every known model by id, those of providers without a credential included. */
  readonly entries: ReadonlyMap<string, ModelEntry>
  /** Ids that must not be passed on although their provider would take them. */
  readonly disabled: ReadonlySet<string>
  readonly listed: readonly ModelEntry[]
  /** Names without a prefix, and the ids that end in them. */
  readonly owners: ReadonlyMap<string, readonly string[]>
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
  const disabled = new Set<string>()
  for (const { id, providerId, model, status } of entries.values()) {
    if (status === 'disabled') disabled.add(id).add(`${providerId}/${model}`)
  }
  const usable = [...entries.values()]
    .filter(({ id, providerId }) => enabled.has(providerId) && !disabled.has(id))
  const owners = ownersOf(usable)
  const routes = new Map<string, readonly Route[]>()

  for (const [name, ids] of owners) {
    const [only, other] = ids
    if (only === undefined || other !== undefined) continue
    const entry = entries.get(only)
    if (entry !== undefined) routes.set(name, [routeOf(entry)])
  }
  for (const entry of usable) routes.set(entry.id, [routeOf(entry)])
  for (const [name, targets] of followed(settings, entries, id => resolve(id, routes, enabled, disabled))) {
    if (targets.length > 0) routes.set(name, targets)
    else routes.delete(name)
  }

  const hidden = new Set(settings.models.filter(model => model.hidden).map(model => model.id))
  const listed = usable
    .filter(entry => !hidden.has(entry.id))
    .toSorted((a, b) => a.id < b.id ? -1 : 1)
  return { routes, entries, disabled, listed, owners }
}

/**
 * Where aliases and routes lead, through one another as far as need be. Of a route within another one
 * only the models count.
 */
function followed (
  { models, routes }: Settings, entries: ReadonlyMap<string, ModelEntry>, resolved: (id: string) => readonly Route[]
): ReadonlyMap<string, readonly Route[]> {
  const steps = new Map<string, string | RouteSettings>(routes.map(route => [route.name, route]))
  for (const { id, alias } of models) if (alias !== undefined && !steps.has(id)) steps.set(id, alias)

  const found = new Map<string, readonly Route[]>()
  const follow = (name: string): readonly Route[] => {
    const next = steps.get(name)
    if (next === undefined) return resolved(name)
    const known = found.get(name)
    if (known !== undefined) return known
    found.set(name, []) // what leads back to itself leads nowhere
    const targets = typeof next === 'string' ? follow(next) : orderRoutes(next, follow, entries)
    found.set(name, targets)
    return targets
  }
  for (const name of steps.keys()) follow(name)
  return found
}

/** The known routes of an id, or one to the enabled provider that its prefix names, or none. */
export function resolve (
  id: string,
  routes: ReadonlyMap<string, readonly Route[]>,
  enabled: ReadonlySet<string>,
  disabled: ReadonlySet<string>
): readonly Route[] {
  const known = routes.get(id)
  if (known !== undefined) return known
  const slash = id.indexOf('/')
  const providerId = id.slice(0, Math.max(slash, 0))
  const model = id.slice(slash + 1)
  if (model === '' || !enabled.has(providerId) || disabled.has(id) || hasLoneSurrogate(model)) return []
  return [{ providerId, model, modelId: id }]
}

/** Half a character can stand in JSON, but in no address. */
export function hasLoneSurrogate (name: string): boolean {
  return /\p{Surrogate}/u.test(name)
}

/** The route to a known model. */
export function routeOf ({ id, providerId, model }: ModelEntry): Route {
  return { providerId, model, modelId: id }
}

/**
 * Ids by name. Names that hold a slash themselves (`openai/gpt-oss-120b` at Groq) are left out:
 * without their prefix they would look like a model of another provider.
 */
function ownersOf (models: readonly ModelEntry[]): Map<string, string[]> {
  const owners = new Map<string, string[]>()
  for (const { id } of models) {
    const name = id.slice(id.indexOf('/') + 1)
    if (name.includes('/')) continue
    const ids = owners.get(name)
    if (ids === undefined) owners.set(name, [id])
    else ids.push(id)
  }
  return owners
}
