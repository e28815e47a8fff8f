/** Orders the models of a configured route. */

import { mergeSettings } from '../chat/merge-settings.ts'
import { blendedPrice, cachesPrompts } from './price.ts'
import { weightedKey } from './weighted-key.ts'
import type { CallSession } from '../core/call.ts'
import type { Ranked, Route } from '../core/route.ts'
import type { RouteSettings } from '../core/settings.ts'
import type { ModelEntry } from '../core/model.ts'

/**
 * Returns the routes of a configured route, in an order that is the same for every call. `orderForCall` then
 * orders `weighted`, `fastest` and `balanced`.
 *
 * @param resolved returns the routes of one of its models
 */
export function orderRoutes (
  {
    models,
    strategy = 'in_order',
    weights = {},
    defaults = {},
    hedgeAfterMs,
    affinity,
    mirror
  }: RouteSettings,
  resolved: (id: string) => readonly Route[],
  entries: ReadonlyMap<string, ModelEntry>
): Route[] {
  const bySession =
    affinity ??
    models.some(id => resolved(id).some(({ modelId }) => cachesPrompts(entries.get(modelId)?.price)))
  const weightOf = new Map(Object.entries(weights))
  const defaultsOf = new Map(Object.entries(defaults))
  const ranked = (route: Route, id: string): Ranked | undefined => {
    switch (strategy) {
      case 'in_order': return undefined
      case 'weighted': return { by: 'weight', value: weightOf.get(id) ?? 1, ...bySession && { bySession } }
      case 'fastest': return { by: 'first_byte', ...bySession && { bySession } }
      case 'balanced': return { by: 'load', ...bySession && { bySession } }
      case 'cheapest': {
        const value = blendedPrice(entries.get(route.modelId)?.price)
        return { by: 'price', ...value !== undefined && { value } }
      }
    }
  }
  const routes = unique(
    models.flatMap(id =>
      resolved(id).map(({ ranked: _, mirror: __, ...route }): Route => {
        const rank = ranked(route, id)
        const own = defaultsOf.get(id)
        return {
          ...route,
          ...own !== undefined && { defaults: mergeSettings(route.defaults ?? {}, own) },
          ...hedgeAfterMs !== undefined && { hedgeAfterMs },
          ...mirror !== undefined && { mirror },
          ...rank !== undefined && { ranked: rank }
        }
      })
    )
  )
  return strategy === 'cheapest'
    ? routes.toSorted((a, b) => valueOf(a, Infinity) - valueOf(b, Infinity))
    : routes
}

/** Inputs that differ from call to call. */
export interface OrderingInputs {
  /** From 0 up to but not including 1. */
  readonly random: () => number
  /** Milliseconds to the first byte of a model, if known. */
  readonly latency: (modelId: string, streamed: boolean) => number | undefined
  /** Requests to a model that wait for its first byte. */
  readonly load?: (modelId: string) => number
  /** When a model last answered a session, by `performance.now()`, if recently. */
  readonly servedAtMs?: (sessionId: string, modelId: string) => number | undefined
}

/**
 * Returns the routes in the order for this call. By weight: each position is drawn among the remaining
 * routes. By time to the first byte: a model without a measurement is tried first, to get one.
 *
 * @param session of the call: where routes depend on the session, it keeps its order
 */
export function orderForCall (
  routes: readonly Route[],
  streamed: boolean,
  inputs: OrderingInputs,
  session?: CallSession
): readonly Route[] {
  const { ranked } = routes[0] ?? {}
  if (ranked?.bySession !== true || session?.id === undefined) return ordered(routes, streamed, inputs)
  if (ranked.by !== 'weight') return lastServedFirst(ordered(routes, streamed, inputs), session.id, inputs)
  const [first, ...others] = byWeight(routes, session.draw.bind(session))
  return first === undefined ? [] : [{ ...first, preferred: 'session' }, ...others]
}

/** Puts the model that last answered the session first. */
function lastServedFirst (
  routes: readonly Route[],
  session: string,
  { servedAtMs = () => undefined }: OrderingInputs
): readonly Route[] {
  const served = routes.map(({ modelId }) => servedAtMs(session, modelId) ?? -Infinity)
  const latest = served.indexOf(Math.max(...served))
  const first = routes[latest]
  return first === undefined || served[latest] === -Infinity
    ? routes
    : [{ ...first, preferred: 'session' }, ...routes.filter(route => route !== first)]
}

function ordered (
  routes: readonly Route[],
  streamed: boolean,
  inputs: OrderingInputs
): readonly Route[] {
  const { random, latency } = inputs
  switch (routes[0]?.ranked?.by) {
    case 'weight': return byWeight(routes, random)
    case 'first_byte': return byNumber(routes.map(route => {
      const ms = latency(route.modelId, streamed)
      return ms === undefined
        ? [route, -1]
        : [{ ...route, ranked: { ...route.ranked, by: 'first_byte', value: ms } }, ms]
    }))
    case 'load': return byLoad(routes, streamed, inputs)
    default: return routes
  }
}

/**
 * Orders routes by the time that a further request would take if waiting requests were served one by one. A
 * model without a measurement counts as fast as the fastest; equal ones are ordered at random.
 */
function byLoad (
  routes: readonly Route[],
  streamed: boolean,
  { random, latency, load = () => 0 }: OrderingInputs
): readonly Route[] {
  const measured = routes.map(({ modelId }) => latency(modelId, streamed))
  const fastestMs = Math.min(...measured.flatMap(ms => ms ?? []), Infinity)
  const assumedMs = fastestMs === Infinity ? 1 : fastestMs
  const rows = routes.map((route, index) => {
    const ms = measured[index]
    const value = (load(route.modelId) + 1) * (ms ?? assumedMs)
    const ranked: Ranked = { ...route.ranked, by: 'load', ...ms !== undefined && { value } }
    return { value, chance: random(), route: { ...route, ranked } }
  })
  return rows.toSorted((a, b) => a.value - b.value || a.chance - b.chance).map(({ route }) => route)
}

function byWeight (routes: readonly Route[], draw: (modelId: string) => number): Route[] {
  return byNumber(routes.map(route => [route, weightedKey(valueOf(route, 1), draw(route.modelId))]))
}

/** Leaves out routes whose model has already occurred. */
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
