/**
 * Every model Headgate knows, each under the provider that serves it.
 *
 * What is said of a model later in this list wins over what was said earlier: the provider's own
 * list, the catalogue, what a provider brings along, the configuration.
 */

import { providerLabels, type ProviderKind } from '../../schemas/providers.ts'
import type { ModelSettings, Settings } from '../core/settings.ts'
import { kinds } from '../providers/kinds.ts'
import { catalogue } from './catalogue.ts'
import type { ModelEntry } from '../core/model.ts'

export interface ModelSources {
  readonly settings: Settings
  /** Models that providers bring along (the sandbox). */
  readonly extra: readonly ModelEntry[]
  /** What providers list themselves, by provider. */
  readonly discovered: ReadonlyMap<string, readonly ModelEntry[]>
}

/** @throws Error when a `models:` entry names a provider that does not exist. */
export function collectModels (sources: ModelSources): Map<string, ModelEntry> {
  const { settings, extra, discovered } = sources
  const kindsById = new Map<string, ProviderKind>(providerLabels.map(label => [label, label]))
  for (const { id, kind } of settings.providers) kindsById.set(id, kind)

  const entries = new Map<string, ModelEntry>()
  for (const models of discovered.values()) for (const model of models) entries.set(model.id, model)
  for (const [providerId, kind] of kindsById) {
    for (const model of catalogue) {
      if (model.providerId !== kind) continue
      const entry = under(providerId, model)
      entries.set(entry.id, entry)
    }
  }
  for (const model of extra) entries.set(model.id, model)
  for (const model of settings.models) {
    if (model.alias !== undefined) continue
    const known = entries.get(model.id) ?? newEntry(model, kindsById)
    entries.set(model.id, configured(known, model))
  }
  return entries
}

/** A catalogue model under the name the operator gave its provider. */
function under (providerId: string, model: ModelEntry): ModelEntry {
  if (model.providerId === providerId) return model
  const name = model.id.slice(model.id.indexOf('/') + 1)
  return { ...model, id: `${providerId}/${name}`, providerId }
}

/** A model of which only its name is known. */
export function bareEntry (providerId: string, model: string, kind: ProviderKind): ModelEntry {
  return {
    id: `${providerId}/${model}`,
    providerId,
    model,
    status: 'enabled',
    upstreamApi: kinds[kind].upstreamApi ?? 'openai-compatible',
    capabilities: {}
  }
}

function newEntry ({ id }: ModelSettings, kindsById: ReadonlyMap<string, ProviderKind>): ModelEntry {
  const slash = id.indexOf('/')
  const providerId = id.slice(0, Math.max(slash, 0))
  const kind = kindsById.get(providerId)
  if (kind === undefined) {
    throw new Error(`models: "${id}" does not start with the id of a provider and a slash.`)
  }
  return bareEntry(providerId, id.slice(slash + 1), kind)
}

function configured (known: ModelEntry, settings: ModelSettings): ModelEntry {
  const { status, displayName, description, capabilities, price, attributes } = settings
  const today = new Date().toISOString().slice(0, 10)
  return {
    ...known,
    ...status !== undefined && { status },
    ...displayName !== undefined && { displayName },
    ...description !== undefined && { description },
    ...price !== undefined && { price: { ...price, asOf: today } },
    ...attributes !== undefined && { attributes },
    capabilities: { ...known.capabilities, ...capabilities }
  }
}
