import type { ModelTraits } from '../../schemas/traits.ts'
import type { Price as WirePrice } from '../../schemas/price.ts'
import type { CamelCased } from './camel-cased.ts'

/** Attribute to a number from 0 to 1; of `cost`, 1 is most expensive. */
export type Attributes = Readonly<Record<string, number>>

/** Attributes given by a request. */
export interface RequestedAttributes {
  /** Attributes of models, by the names the caller uses for them. */
  readonly models?: Readonly<Record<string, Attributes>> | undefined
  /** Attributes the call needs. Default: as much as possible of each attribute given in `models`. */
  readonly agent?: Attributes | undefined
}

/** The capabilities of a model on which a translation depends; an absent one is not known. */
export type Traits = CamelCased<ModelTraits>

/** The price of a model. Absent is not known, which is not free. */
export interface Price extends CamelCased<WirePrice> {
  /** The day on which it was valid. */
  readonly asOf: string
}

export type ModelStatus = 'enabled' | 'disabled' | 'preview' | 'deprecated'

/** A model as the catalogue knows it; absent means unknown. */
export interface ModelEntry {
  /** With the provider prefix. */
  readonly id: string
  readonly providerId: string
  /** The name at the provider. */
  readonly model: string
  /** ISO 8601, of its release; absent when the provider does not say. */
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
