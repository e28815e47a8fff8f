/**
 * Collects every known model, each under the provider that serves it.
 *
 * Later sources override earlier ones: the provider's own list, the catalogue, models that a provider adds,
 * the configuration. A snapshot (`gpt-4o-2024-08-06`) inherits what is known of its model, unless a source
 * describes the snapshot itself.
 */

import { providerLabels, type ProviderKind } from '../../schemas/providers.ts'
import type { ModelEntry } from '../core/model.ts'
import type { ModelSettings, Settings } from '../core/settings.ts'
import { kinds, otherUpstreamApi } from '../providers/kinds.ts'
import { catalogueOf } from './catalogue.ts'
import { dateIn, withoutDate } from './dated-names.ts'
import { serviceAt } from './litellm-providers.ts'
import { familyTraits, limitOutput, mergeTraits } from './traits.ts'

export interface ModelSources {
  readonly settings: Settings
  /** Models that providers add (the sandbox). */
  readonly extra: readonly ModelEntry[]
  /** Models that providers list, by provider. */
  readonly discovered: ReadonlyMap<string, readonly ModelEntry[]>
}

/** Returns the kind of every provider whose models may be called, by its id; well-known ones first. */
export function kindsById ({ providers }: Pick<Settings, 'providers'>): ReadonlyMap<string, ProviderKind> {
  const found = new Map<string, ProviderKind>(providerLabels.map(label => [label, label]))
  for (const { id, kind } of providers) found.set(id, kind)
  return found
}

/** @throws Error when a `models:` entry names an unknown provider */
export function collectModels ({ settings, extra, discovered }: ModelSources): Map<string, ModelEntry> {
  const providerKinds = kindsById(settings)
  const services = new Map(settings.providers.map(({ id, baseUrl }) => [id, serviceAt(baseUrl)]))
  const { models: catalogue, families } = catalogueOf(settings)
  const entries = new Map<string, ModelEntry>()
  for (const models of discovered.values()) for (const model of models) entries.set(model.id, model)
  for (const [providerId, kind] of providerKinds) {
    for (const model of catalogue) {
      if (model.providerId !== (services.get(providerId) ?? kind)) continue
      const entry = withProvider(providerId, model)
      entries.set(entry.id, entry)
    }
  }
  for (const model of extra) entries.set(model.id, model)
  for (const model of settings.models) {
    if (model.alias !== undefined) continue
    const entry = entries.get(model.id) ?? newEntry(model, providerKinds)
    entries.set(model.id, configured(entry, model))
  }
  const withStatus = new Set(settings.models.filter(({ status }) => status !== undefined).map(({ id }) => id))
  for (const entry of entries.values()) {
    const { traits, ...complete } = inherited(entry, entries, withStatus.has(entry.id))
    const family = familyTraits(families, providerKinds.get(entry.providerId), entry.model)
    const merged = mergeTraits(family, traits)
    entries.set(entry.id, merged === undefined ? complete : { ...complete, traits: merged })
  }
  // Last, because snapshots inherit the traits of a model, but not this limit.
  for (const entry of entries.values()) {
    const limited = limitOutput(entry.traits, entry.capabilities['output_token_limit'])
    if (limited !== entry.traits) entries.set(entry.id, { ...entry, traits: limited })
  }
  return entries
}

/** Returns the known model that an id names a snapshot of. */
export function modelOfSnapshot (
  id: string,
  entries: ReadonlyMap<string, ModelEntry>
): ModelEntry | undefined {
  const name = withoutDate(id)
  return name === undefined ? undefined : entries.get(name)
}

/** Describes a snapshot that no source lists: everything known of its model. */
export function snapshotOf (base: ModelEntry, id: string): ModelEntry {
  const createdAt = dateIn(id)
  const model = id.slice(base.providerId.length + 1)
  return { ...base, id, model, ...createdAt !== undefined && { createdAt } }
}

/** @param hasOwnStatus true if the operator has set the status of this very model */
function inherited (
  entry: ModelEntry,
  entries: ReadonlyMap<string, ModelEntry>,
  hasOwnStatus: boolean
): ModelEntry {
  const base = modelOfSnapshot(entry.id, entries)
  const createdAt = entry.createdAt ?? dateIn(entry.id)
  const dated: ModelEntry = createdAt === undefined ? entry : { ...entry, createdAt }
  if (base === undefined) return dated
  return {
    ...base,
    ...dated,
    capabilities: { ...base.capabilities, ...entry.capabilities },
    traits: mergeTraits(base.traits, entry.traits),
    status: base.status === 'disabled' && !hasOwnStatus ? 'disabled' : entry.status
  }
}

/** Returns a catalogue model under the name the operator gave its provider. */
function withProvider (providerId: string, model: ModelEntry): ModelEntry {
  if (model.providerId === providerId) return model
  const name = model.id.slice(model.id.indexOf('/') + 1)
  return { ...model, id: `${providerId}/${name}`, providerId }
}

/**
 * Returns a model of which only the name is known.
 *
 * @param kind absent for a provider that a program adds without configuration
 */
export function unknownModelEntry (
  providerId: string,
  model: string,
  kind: ProviderKind | undefined
): ModelEntry {
  return {
    id: `${providerId}/${model}`,
    providerId,
    model,
    status: 'enabled',
    upstreamApi: (kind === undefined ? undefined : kinds[kind].upstreamApi) ?? otherUpstreamApi,
    capabilities: {}
  }
}

function newEntry ({ id }: ModelSettings, providerKinds: ReadonlyMap<string, ProviderKind>): ModelEntry {
  const slash = id.indexOf('/')
  const providerId = id.slice(0, Math.max(slash, 0))
  const kind = providerKinds.get(providerId)
  if (kind === undefined) {
    throw new Error(`models: "${id}" does not start with the id of a provider and a slash.`)
  }
  return unknownModelEntry(providerId, id.slice(slash + 1), kind)
}

function configured (known: ModelEntry, settings: ModelSettings): ModelEntry {
  const { status, displayName, description, capabilities, price, attributes, traits } = settings
  const today = new Date().toISOString().slice(0, 10)
  return {
    ...known,
    ...status !== undefined && { status },
    ...displayName !== undefined && { displayName },
    ...description !== undefined && { description },
    ...price !== undefined && { price: { ...price, asOf: today } },
    ...attributes !== undefined && { attributes },
    ...traits !== undefined && { traits: mergeTraits(known.traits, traits) },
    capabilities: { ...known.capabilities, ...capabilities }
  }
}
