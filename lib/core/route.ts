import type { Traits } from './model.ts'

/** The provider and model chosen for a call: plain data, no credentials. */
export interface Route {
  readonly providerId: string
  /** The model's name at the provider. */
  readonly model: string
  /** The gateway's id for it, with the provider prefix: what answers say in `model`. */
  readonly modelId: string
  /**
   * The id of the model of which it is a snapshot, or which has the same letters: what the operator has
   * decided of that one, such as a budget, holds for it as well.
   */
  readonly variantOf?: string
  /** The traits of the model, if the catalogue or the operator knows them. */
  readonly traits?: Traits | undefined
  /**
   * Defaults of the request's fields: those of `defaults`, then those the caller sent in `{ model, settings
   * }`. What the request says wins.
   */
  readonly settings?: Readonly<Record<string, unknown>>
  /**
   * Settings from the configuration (`routes.<name>.models[].settings`). `choose-routes` copies them into
   * `settings`, below those of the caller; nothing reads them afterwards.
   */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** Fewest tokens that the model caches; set where the gateway marks prompts for its cache. */
  readonly minMarkedTokens?: number
  /** Another model that gets a share of the calls as well. Only that of the first route is used. */
  readonly mirror?: Mirror
  /** Milliseconds after which the next route is started as well. Default: never. */
  readonly hedgeAfterMs?: number
  /** The reason for its place among the routes, where that is not the order in which they were named. */
  readonly ranked?: Ranked
  /**
   * The reason why it stands before others, whatever ranked it: the message history holds its signed
   * thinking, a header of the caller names it, or it serves the session of the call.
   */
  readonly preferred?: 'wrote_history' | 'caller_order' | 'session'
}

export interface Mirror {
  /** A model, an alias or a route, whose first model it is. */
  readonly model: string
  /** From 0 to 1. */
  readonly share: number
  readonly maxInFlight: number
}

export interface Ranked {
  /** A score from 0 to 1; a weight; USD per million tokens; milliseconds. */
  readonly by: 'score' | 'weight' | 'price' | 'first_byte' | 'load'
  /** Absent while it is not known. */
  readonly value?: number
  /** True if calls of a session should stay with one model. */
  readonly bySession?: boolean
  /** The parts of a score. */
  readonly terms?: readonly ScoreTerm[]
}

/** One requirement of a call, and what a model has of it. For `cost`, both are 1 − cost. */
export interface ScoreTerm {
  readonly attribute: string
  readonly required: number
  /** Absent while unknown: half of the requirements is then assumed. */
  readonly actual?: number
  readonly weight: number
  /** The part of the score that it makes. */
  readonly share: number
}

/** Returns the ids by which the configuration may mean the model of a route. */
export function idsOf ({ modelId, variantOf }: Pick<Route, 'modelId' | 'variantOf'>): readonly string[] {
  return variantOf === undefined ? [modelId] : [modelId, variantOf]
}
