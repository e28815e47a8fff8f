/** Attribute to a number from 0 to 1; of `cost`, 1 is dear. */
export type Attributes = Readonly<Record<string, number>>

/** What a request says about attributes. */
export interface RequestedAttributes {
  /** What models are like, by whatever name the caller has for them. */
  readonly models?: Readonly<Record<string, Attributes>> | undefined
  /** What the call needs. Default: as much as there is of everything that is said of models. */
  readonly agent?: Attributes | undefined
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
  /** USD per million tokens, and the day they were read. */
  readonly price?: {
    readonly input?: number
    readonly output?: number
    readonly cachedInput?: number
    readonly asOf: string
  }
  /** What this model accepts, where adapters must know (`sampling`, `thinking`, image rules, …). */
  readonly traits?: Readonly<Record<string, unknown>>
  /** What the operator says it is like, each from 0 to 1. */
  readonly attributes?: Readonly<Record<string, number>>
}
