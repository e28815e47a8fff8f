/** Where a call went: its routes, and the requests to providers. */

import type { ChildSpan } from './call-trace.ts'
import type { Route } from './route.ts'

/** A route that was skipped, or whose attempt failed or lost to another one. */
export interface UnusedRoute {
  readonly route: Route
  /** An error code, or why the route was not called. */
  readonly reason: string
}

/** One attempt at a route. Times are from `performance.now()`. */
export interface RecordedAttempt {
  readonly route: Route
  readonly startedAtMs: number
  /** When the first visible output came or the attempt failed; absent while waiting. */
  answeredAtMs: number | undefined
  /** When the answer was read to its end, or closed before that; absent without an answer. */
  endedAtMs: number | undefined
  /** Why the answer was not used. */
  reason: string | undefined
  /** HTTP status of a refusal. */
  status: number | undefined
  /** Absent where the call has no trace. */
  readonly span?: ChildSpan | undefined
}

/** One of the requests that an attempt was split into. Times are from `performance.now()`. */
export interface SentPart {
  readonly route: Route
  /** Its place among the parts, from 1. */
  readonly number: number
  readonly startedAtMs: number
  /** When its answer was read to its end, or it failed; absent while waiting. */
  endedAtMs: number | undefined
  /** An error code, or `cancelled`; absent for one that succeeded. */
  reason: string | undefined
  /** HTTP status of a refusal. */
  status: number | undefined
  readonly span: ChildSpan
  /** The span of the attempt. */
  readonly attemptSpan: ChildSpan
}

/** Where the call went. */
export class RoutingFacts {
  /** The gateway id of the model that succeeded (or was last tried). */
  modelId: string | undefined = undefined
  providerId: string | undefined = undefined
  upstreamRequestId: string | undefined = undefined
  /** Provider limits of the caller's own key, as headers of the dialect that caller and provider share. */
  upstreamLimits: Readonly<Record<string, string>> | undefined = undefined
  /** Best first, without skipped routes. */
  routes: readonly Route[] | undefined = undefined
  /** The route that succeeded. */
  chosen: Route | undefined = undefined
  /** Requests to providers. An attempt sends several if it is split, or is translated after a refusal. */
  requestCount = 0
  /** Number of further attempts at a model that had just failed. */
  retries: number | undefined = undefined
  /** Number of requests started because another one was slow. */
  hedges: number | undefined = undefined
  /** Why other routes were not used: one entry per failed attempt or skipped route. */
  unusedRoutes: UnusedRoute[] | undefined = undefined
  /** In the order in which they began. */
  attempts: RecordedAttempt[] | undefined = undefined
  /** The parts of split requests; absent where the call has no trace. */
  sentParts: SentPart[] | undefined = undefined
  /** Size of the provider's complete JSON answer. */
  answerBytes = 0
  /** The result of the lookup in the cache of answers; absent where there is no cache. */
  cache: 'hit' | 'miss' | 'bypass' | undefined = undefined
}

/** Returns true for a call with several routes, or with a route that failed or was skipped. */
export function hadSeveralRoutes ({ routes, unusedRoutes }: RoutingFacts): boolean {
  return unusedRoutes !== undefined || (routes !== undefined && routes.length > 1)
}
