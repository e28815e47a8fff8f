/**
 * Everything lookups need, worked out beforehand: a call then costs one `Map.get`.
 *
 * What is said of a model later in this list wins over what was said earlier: the provider's own
 * list, the catalogue, what a provider brings along, the configuration. `routes:` and aliases win
 * over ids, ids over names without a prefix.
 */

import { providerLabels } from '../../schemas/models.ts'
import type { Route } from '../call.ts'
import type { ModelSettings, Settings } from '../settings.ts'
import { catalogue } from './catalogue.ts'
import type { ModelEntry } from './models.ts'

export interface ModelSources {
  readonly settings: Settings
  /** Providers the gateway may use. */
  readonly enabled: ReadonlySet<string>
  /** Models that providers bring along (the sandbox). */
  readonly extra: readonly ModelEntry[]
  /** What providers list themselves, by provider. */
  readonly discovered: ReadonlyMap<string, readonly ModelEntry[]>
}

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

/** @throws Error when a `models:` entry names a provider that does not exist. */
export function buildIndex (sources: ModelSources): ModelIndex {
  const { settings, enabled } = sources
  const entries = collect(sources)
  const usable = [...entries.values()]
    .filter(({ providerId, status }) => enabled.has(providerId) && status !== 'disabled')
  const owners = ownersOf(usable)
  const routes = new Map<string, readonly Route[]>()

  for (const [name, ids] of owners) {
    const [only, other] = ids
    if (only === undefined || other !== undefined) continue
    const entry = entries.get(only)
    if (entry !== undefined) routes.set(name, [routeOf(entry)])
  }
  for (const entry of usable) routes.set(entry.id, [routeOf(entry)])

  const disabled = new Set<string>()
  for (const { id, providerId, model, status } of entries.values()) {
    if (status === 'disabled') disabled.add(id).add(`${providerId}/${model}`)
  }
  for (const { id, alias } of settings.models) {
    const target = routes.get(id)
    if (alias !== undefined && target !== undefined) routes.set(alias, target)
  }
  // Resolved before any is added: a route cannot go through another route, so none can go round.
  const named = settings.routes.map(({ name, models }) =>
    [name, unique(models.flatMap(id => resolve(id, routes, enabled, disabled)))] as const)
  for (const [name, targets] of named) {
    if (targets.length > 0) routes.set(name, targets)
    else routes.delete(name)
  }

  const hidden = new Set(settings.models.filter(model => model.hidden).map(model => model.id))
  const listed = usable
    .filter(entry => !hidden.has(entry.id))
    .toSorted((a, b) => a.id < b.id ? -1 : 1)
  return { routes, entries, disabled, listed, owners }
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
  if (model === '' || !enabled.has(providerId) || disabled.has(id)) return []
  return [{ providerId, model, modelId: id }]
}

export function routeOf ({ id, providerId, model }: ModelEntry): Route {
  return { providerId, model, modelId: id }
}

/** Without the routes whose model came up before. */
export function unique (routes: readonly Route[]): Route[] {
  const seen = new Set<string>()
  return routes.filter(({ modelId }) => !seen.has(modelId) && seen.add(modelId))
}

function collect ({ settings, extra, discovered }: ModelSources): Map<string, ModelEntry> {
  const kinds = new Map<string, string>(providerLabels.map(label => [label, label]))
  for (const { id, kind } of settings.providers) kinds.set(id, kind)

  const entries = new Map<string, ModelEntry>()
  for (const models of discovered.values()) for (const model of models) entries.set(model.id, model)
  for (const [providerId, kind] of kinds) {
    for (const model of catalogue) {
      if (model.providerId === kind) add(entries, under(providerId, model))
    }
  }
  for (const model of extra) add(entries, model)
  for (const model of settings.models) {
    const known = entries.get(model.id) ?? newEntry(model, kinds)
    entries.set(model.id, configured(known, model))
  }
  return entries
}

function add (entries: Map<string, ModelEntry>, model: ModelEntry): void {
  entries.set(model.id, model)
}

/** A catalogue model under the name the operator gave its provider. */
function under (providerId: string, model: ModelEntry): ModelEntry {
  if (model.providerId === providerId) return model
  const name = model.id.slice(model.id.indexOf('/') + 1)
  return { ...model, id: `${providerId}/${name}`, providerId }
}

/** A model of which only its name is known. */
export function bareEntry (providerId: string, model: string, kind: string): ModelEntry {
  return {
    id: `${providerId}/${model}`,
    providerId,
    model,
    status: 'enabled',
    upstreamApi: upstreamApis[kind] ?? 'openai-compatible',
    capabilities: {}
  }
}

const upstreamApis: Readonly<Record<string, string>> = {
  openai: 'openai/chat/completions',
  anthropic: 'anthropic/messages',
  google: 'google/generateContent',
  xai: 'xai/chat/completions'
}

function newEntry ({ id }: ModelSettings, kinds: ReadonlyMap<string, string>): ModelEntry {
  const slash = id.indexOf('/')
  const providerId = id.slice(0, Math.max(slash, 0))
  const kind = kinds.get(providerId)
  if (kind === undefined) {
    throw new Error(`models: "${id}" does not start with the id of a provider and a slash.`)
  }
  return bareEntry(providerId, id.slice(slash + 1), kind)
}

function configured (known: ModelEntry, settings: ModelSettings): ModelEntry {
  const { status, displayName, description, capabilities, price } = settings
  const today = new Date().toISOString().slice(0, 10)
  return {
    ...known,
    ...status !== undefined && { status },
    ...displayName !== undefined && { displayName },
    ...description !== undefined && { description },
    ...price !== undefined && { price: { ...price, asOf: today } },
    capabilities: { ...known.capabilities, ...capabilities }
  }
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
