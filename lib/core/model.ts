/** What the gateway knows of a model. */

import type { ModelTraits } from '../../schemas/traits.ts'
import type { Price as WirePrice } from '../../schemas/price.ts'
import type { CamelCased } from './camel-cased.ts'

/** Attribute to a number from 0 to 1; for `cost`, 1 is the most expensive. */
export type Attributes = Readonly<Record<string, number>>

export interface RequestedAttributes {
  /** Attributes of models, by the names the caller uses for them. */
  readonly models?: Readonly<Record<string, Attributes>> | undefined
  /** Attributes that the call needs. Default: the maximum of each attribute in `models`. */
  readonly agent?: Attributes | undefined
}

/** The capabilities of a model that translations depend on; absent: unknown. */
export type Traits = CamelCased<ModelTraits>

/** The price of a model. Absent means unknown, not free. */
export interface Price extends CamelCased<WirePrice> {
  /** The day on which it was valid. */
  readonly asOf: string
}

export type ModelStatus = 'enabled' | 'disabled' | 'preview' | 'deprecated'

/** A model as the catalogue describes it; absent: unknown. */
export interface ModelEntry {
  /** With the provider prefix. */
  readonly id: string
  readonly providerId: string
  /** The name at the provider. */
  readonly model: string
  /** Its release in ISO 8601; absent if the provider does not report it. */
  readonly createdAt?: string
  readonly displayName?: string
  readonly description?: string
  readonly status: ModelStatus
  readonly upstreamApi: string
  readonly capabilities: Readonly<Record<string, boolean | number>>
  readonly price?: Price
  readonly traits?: Traits | undefined
  /** Attributes set by the operator, each from 0 to 1. */
  readonly attributes?: Readonly<Record<string, number>>
}
