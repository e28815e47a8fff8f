/** In which order the models of a configured route are tried. */

import { blendedPrice } from '../models/price.ts'
import type { Ranked, Route } from '../core/route.ts'
import type { RouteSettings } from '../core/settings.ts'
import type { ModelEntry } from '../core/model.ts'

/**
 * The routes of a configured route, as far as their order does not change from call to call: that of
 * `weighted` and `fastest` is left to `inPlay`.
 *
 * @param resolved the routes of one of its models
 */
export function orderRoutes (
  { models, strategy = 'in_order', weights = {} }: RouteSettings,
  resolved: (id: string) => readonly Route[],
  entries: ReadonlyMap<string, ModelEntry>
): Route[] {
  const ranked = (route: Route, id: string): Ranked | undefined => {
    switch (strategy) {
      case 'in_order': return undefined
      case 'weighted': return { by: 'weight', value: weights[id] ?? 1 }
      case 'fastest': return { by: 'first byte' }
      case 'cheapest': {
        const value = blendedPrice(entries.get(route.modelId)?.price)
        return { by: 'price', ...value !== undefined && { value } }
      }
    }
  }
  const routes = unique(models.flatMap(id => resolved(id).map(({ ranked: _, ...route }): Route => {
    const place = ranked(route, id)
    return place === undefined ? route : { ...route, ranked: place }
  })))
  return strategy === 'cheapest' ? routes.toSorted((a, b) => valueOf(a, Infinity) - valueOf(b, Infinity)) : routes
}

/** What decides from call to call. */
export interface OrderingInputs {
  /** From 0 to 1, without 1. */
  readonly random: () => number
  /** Milliseconds to the first byte of a model, as far as they are known. */
  readonly latency: (modelId: string, streamed: boolean) => number | undefined
}

/**
 * The routes in the order of this call. By weight: each place is drawn among those that are left. By
 * time to the first byte: what is not known is asked first, and then it is.
 */
export function orderForCall (routes: readonly Route[], streamed: boolean, { random, latency }: OrderingInputs): readonly Route[] {
  switch (routes[0]?.ranked?.by) {
    case 'weight': return byNumber(routes.map(route => [route, sampleKey(valueOf(route, 1), random)]))
    case 'first byte': return byNumber(routes.map(route => {
      const ms = latency(route.modelId, streamed)
      return ms === undefined ? [route, -1] : [{ ...route, ranked: { by: 'first byte', value: ms } }, ms]
    }))
    default: return routes
  }
}

/**
 * The lowest ticket wins, and each wins as often as its share of all weights says: exponential
 * distribution, of which the weight is the rate. Without any weight it comes after all others.
 */
function sampleKey (weight: number, random: () => number): number {
  return weight === 0 ? Infinity : -Math.log(1 - random()) / weight
}

/** Without the routes whose model came up before. */
export function unique (routes: readonly Route[]): Route[] {
  const seen = new Set<string>()
  return routes.filter(({ modelId }) => !seen.has(modelId) && seen.add(modelId))
}

function byNumber (rows: ReadonlyArray<readonly [Route, number]>): Route[] {
  return rows.toSorted(([, a], [, b]) => a - b).map(([route]) => route)
}

function valueOf ({ ranked }: Route, unknown: number): number {
  return ranked?.value ?? unknown
}
