/**
 * The edge: a Koa app that turns requests into calls and replies into responses.
 *
 * A request passes, in this order: middleware of the embedding program, CORS, the limit on pipelining,
 * request checks, paths without parameters, paths with parameters, and the refusal of everything else. Every
 * request that can be parsed goes through Koa.
 */

import Koa, { type Middleware } from 'koa'
import { Admission, type AdmissionLimits } from './admission.ts'
import { answerCalls, type AnswerOptions, type AnswerLimits } from './answer-call.ts'
import { allowOrigins } from './cors.ts'
import { endpointRoutes, type LiveEndpoints } from './endpoint-routes.ts'
import { OpenCalls } from './open-calls.ts'
import { limitPipelining, Pipelining } from './pipelining.ts'
import { checkRequest } from './request-checks.ts'
import type { RequestListener } from 'node:http'
import type { GatewayError } from '../core/errors.ts'

export type { Middleware } from 'koa'

export interface AppLimits extends AnswerLimits, AdmissionLimits {
  /** Requests of one connection that may wait for an answer. */
  readonly pipelinedRequests: number
}

export interface AppOptions extends AnswerOptions {
  /**
   * The endpoints are read again for every call, so that a new configuration applies from the next call on.
   * They always have the same paths in the same order.
   */
  readonly live: LiveEndpoints
  /** In effect until `applyLimits`. */
  readonly limits: AppLimits
  /** Returns whether a `Host` header names this gateway. Default: any does. */
  readonly allowsHost?: (header: string) => boolean
  /** Origins of pages that may call the API. Default: none. */
  readonly corsOrigins?: readonly string[]
  /** Runs before the gateway, on requests that `handle` gets. */
  readonly middleware?: readonly Middleware[]
}

export interface App {
  /** Listener for requests of an HTTP server. */
  readonly handle: RequestListener
  /** The gateway as middleware of another Koa app. */
  readonly middleware: Middleware
  /** Resolves when the calls that are open now have ended; later calls do not count. */
  readonly whenIdle: () => Promise<void>
  /** Unanswered requests, including those of callers without a key. `admission` counts admitted calls. */
  readonly openRequests: () => number
  /** The amounts of the bounded resources that open calls hold. */
  readonly admission: Pick<Admission, 'openCalls' | 'inUse' | 'holdMemory'>
  /** Applies the limits of a new configuration from the next call on. */
  readonly applyLimits: (limits: AppLimits) => void
  /** Ends every open call with `reason`. */
  readonly abortAll: (reason: GatewayError) => void
}

export function createApp (options: AppOptions): App {
  const { live, allowsHost = () => true, corsOrigins = [] } = options
  let { limits } = options
  const open = new OpenCalls()
  const admission = new Admission(limits)
  const pipelining = new Pipelining(limits.pipelinedRequests)
  const answer = answerCalls({ options, limits: () => limits, admission, open })
  const middleware = nested([
    allowOrigins(corsOrigins, live.endpoints),
    limitPipelining(pipelining, answer),
    checkRequest(allowsHost, answer),
    ...endpointRoutes(live, answer)
  ])
  const koa = new Koa()
  koa.silent = true // the log of calls mentions callers who leave
  for (const step of [...options.middleware ?? [], middleware]) koa.use(step)
  const listener = koa.callback()

  return {
    handle: (request, response) => { void listener(request, response) },
    middleware,
    whenIdle: async () => await open.whenIdle(),
    openRequests: () => open.size,
    admission,
    applyLimits: next => {
      limits = next
      admission.applyLimits(next)
      pipelining.maxPipelined = next.pipelinedRequests
    },
    abortAll: reason => { for (const { abort } of open) abort(reason) }
  }
}

/** Composes middleware in the order of the list, like a Koa app: each gets the rest as `next`. */
function nested (steps: readonly Middleware[]): Middleware {
  // Our middleware always returns a promise.
  return steps.reduce(
    (outer, inner): Middleware =>
      (context, next) =>
        outer(context, () => inner(context, next) as Promise<unknown>)
  )
}
