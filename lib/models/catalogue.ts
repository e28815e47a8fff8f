/**
 * The catalogue: known models, and what families of models accept. It is the reviewed file `catalogue.json`,
 * overridden by the operator's file (`catalogue:`).
 *
 * Limits and prices come from the providers' own pages; a price names a day on which it was valid. The file
 * is checked when the gateway is built, because a mistyped price is a wrong bill that nobody notices.
 */

import { nonEmptyText, property } from '../json/type-guards.ts'
import { Check } from 'typebox/schema'
import {
  Catalogue,
  capabilityNames,
  type CatalogueModel,
  type DefaultModels
} from '../../schemas/catalogue.ts'
import data from './catalogue.json' with { type: 'json' }
import type { ProviderKind } from '../../schemas/providers.ts'
import { ModelTraits } from '../../schemas/traits.ts'
import { Price } from '../../schemas/price.ts'
import type { ModelEntry, Price as ModelPrice, Traits } from '../core/model.ts'
import type { Settings } from '../core/settings.ts'
import { camelCased } from '../validation/camel-case-schema.ts'
import { loadAjv } from '../validation/load-ajv.ts'

/** Models of one family, by their names at the provider. */
export interface ModelFamily {
  /** Absent: any. */
  readonly kinds?: readonly ProviderKind[] | undefined
  readonly match: RegExp
  readonly traits: Traits
}

export interface CatalogueEntries {
  /** Models for requests without one, by endpoint. */
  readonly defaults: DefaultModels
  readonly models: readonly ModelEntry[]
  /** The first match counts. */
  readonly families: readonly ModelFamily[]
}

const builtIn = entriesOf(data as Catalogue) // the build has checked it with `readCatalogue`

/** As in the file. */
export const builtInModels: readonly CatalogueModel[] = (data as Catalogue).models

export const { models: catalogue, families } = builtIn

/** Limits of embedding models without their own. */
export const embeddingDefaults = {
  tokensPerInput: data.embeddings.tokens_per_input,
  tokensPerRequest: data.embeddings.tokens_per_request
}

/** Entries by the operator's catalogue: indexes are built from them repeatedly. */
const merged = new WeakMap<Catalogue, CatalogueEntries>()

/** Returns the built-in catalogue, preceded by the operator's own models and families. */
export function catalogueOf ({ catalogue: own }: Pick<Settings, 'catalogue'>): CatalogueEntries {
  if (own === undefined) return builtIn
  const existing = merged.get(own)
  if (existing !== undefined) return existing
  const { defaults, models, families } = entriesOf(own)
  const replaced = new Set(models.map(({ id }) => id))
  const entries = {
    defaults: { ...builtIn.defaults, ...defaults },
    models: [...models, ...builtIn.models.filter(({ id }) => !replaced.has(id))],
    families: [...families, ...builtIn.families]
  }
  merged.set(own, entries)
  return entries
}

/**
 * Checks a catalogue and returns its entries, in order.
 *
 * @throws Error with the position and the id of the first invalid entry
 */
export function readCatalogue (data: unknown): CatalogueEntries {
  if (!Check(Catalogue, data)) throw firstError(data)
  const seen = new Set<string>()
  for (const [index, { id }] of data.models.entries()) {
    if (seen.has(id)) throw new Error(`Model catalogue: /models/${index} repeats ${id}.`)
    seen.add(id)
  }
  return entriesOf(data)
}

function entriesOf ({ defaults = {}, models, families }: Catalogue): CatalogueEntries {
  return {
    defaults,
    models: models.map(toEntry),
    families: families.map(({ kinds, match, traits }) => ({
      kinds,
      match: new RegExp(match),
      traits: camelCased(ModelTraits, traits)
    }))
  }
}

function firstError (data: unknown): Error {
  // The schema is our own and valid: it need not be checked itself.
  const check = new (loadAjv())({ meta: false, validateSchema: false }).compile(Catalogue)
  check(data)
  const { instancePath = '', message = '' } = check.errors?.[0] ?? {}
  return new Error(`Model catalogue: ${describe(data, instancePath)} ${message}.`)
}

/**
 * Names the place of a problem, with the model's id if it has one: `/models/3/price/input (openai/gpt-5)`.
 */
function describe (data: unknown, path: string): string {
  const index = /^\/models\/(\d+)/.exec(path)?.[1]
  if (index === undefined) return path === '' ? 'the file' : path
  const id = nonEmptyText(property(property(property(data, 'models'), index), 'id'))
  return `${path} (${id ?? 'no id'})`
}

function toEntry (model: CatalogueModel): ModelEntry {
  const { id, can, price } = model
  // If the day of a release is unknown, the model existed by the day its price was read.
  const released = model.created_at ?? price?.as_of
  const slash = id.indexOf('/')
  const capabilities: Record<string, boolean | number> = {}
  for (const name of capabilityNames) capabilities[name] = can.includes(name)
  if (model.input_token_limit !== undefined) capabilities.input_token_limit = model.input_token_limit
  if (model.output_token_limit !== undefined) capabilities.output_token_limit = model.output_token_limit
  return {
    id,
    providerId: id.slice(0, slash),
    model: model.model ?? id.slice(slash + 1),
    displayName: model.display_name,
    description: model.description,
    status: model.status,
    upstreamApi: model.upstream_api,
    capabilities,
    ...released !== undefined && { createdAt: `${released}T00:00:00Z` },
    ...price !== undefined && { price: toPrice(price) },
    ...model.traits !== undefined && { traits: camelCased(ModelTraits, model.traits) }
  }
}

function toPrice ({ as_of: asOf, source: _, ...price }: NonNullable<CatalogueModel['price']>): ModelPrice {
  return { ...camelCased(Price, price), asOf }
}
