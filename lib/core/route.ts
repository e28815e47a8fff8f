/** The candidates of a call, and why they are in their order. */

import type { Traits } from './model.ts'

/** A candidate for a call: a model of a provider. Plain data, without credentials. */
export interface Route {
  readonly providerId: string
  /** The model's name at the provider. */
  readonly model: string
  /** The gateway's id of the model, with the provider prefix: `model` in answers. */
  readonly modelId: string
  /**
   * The id of the model that this one is a snapshot of, or whose id differs only in case. The operator's
   * settings for that model, such as a budget, apply to this one as well.
   */
  readonly variantOf?: string
  /** The traits of the model, if the catalogue or the operator knows them. */
  readonly traits?: Traits | undefined
  /**
   * Defaults for fields of the request: from `defaults`, overridden by the `settings` that the caller sent
   * with the model. Fields of the request itself win over both.
   */
  readonly settings?: Readonly<Record<string, unknown>>
  /**
   * Settings from the configuration (`routes.<name>.models[].settings`). `choose-routes` merges them into
   * `settings`, where the caller's win; nothing reads them afterwards.
   */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** Minimum number of tokens that the model caches; set if the gateway marks prompts for its cache. */
  readonly minMarkedTokens?: number
  /** Another model that also gets a share of the calls. Only the mirror of the first route is used. */
  readonly mirror?: Mirror
  /** Milliseconds after which the next route is started as well. Default: never. */
  readonly hedgeAfterMs?: number
  /** Why the route has its position, unless the routes are in the order in which they were named. */
  readonly ranked?: Ranked
  /**
   * Why it was moved to the front, regardless of `ranked`: the message history holds its signed
   * thinking, a header of the caller names it, or it serves the session of the call.
   */
  readonly preferred?: 'wrote_history' | 'caller_order' | 'session'
}

export interface Mirror {
  /** A model or an alias, or a named list of routes, of which the first model counts. */
  readonly model: string
  /** From 0 to 1. */
  readonly share: number
  readonly maxInFlight: number
}

export interface Ranked {
  readonly by: 'score' | 'weight' | 'price' | 'first_byte' | 'load'
  /**
   * Absent while unknown. By `score` from 0 to 1, by `price` in USD per million tokens, by `first_byte` and
   * `load` in milliseconds.
   */
  readonly value?: number
  /** True if calls of a session should stay with one model. */
  readonly bySession?: boolean
  /** The parts of a score. */
  readonly terms?: readonly ScoreTerm[]
}

/** One requirement of a call, and how far a model meets it. For `cost`, both are 1 − cost. */
export interface ScoreTerm {
  readonly attribute: string
  readonly required: number
  /** Absent while unknown: half of the requirements is then assumed. */
  readonly actual?: number
  readonly weight: number
  /** Its contribution to the score. */
  readonly share: number
}

/** Returns the ids by which the configuration may mean the model of a route. */
export function idsOf ({ modelId, variantOf }: Pick<Route, 'modelId' | 'variantOf'>): readonly string[] {
  return variantOf === undefined ? [modelId] : [modelId, variantOf]
}
