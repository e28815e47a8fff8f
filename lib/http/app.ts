/**
 * The edge: a Koa app that finds the endpoint of each request and has its call answered.
 *
 * A request passes, in this order: middleware of the embedding program, CORS, request checks, paths without
 * parameters, paths with parameters, and the refusal of everything else. Every request that can be parsed
 * goes through Koa.
 */

import Koa, { type Context, type Middleware } from 'koa'
import { Router, type Layer } from '@koa/router'
import { GatewayError } from '../core/errors.ts'
import { Admission, type AdmissionBounds } from './admission.ts'
import { answerCalls, type AnswerHandler, type AnswerOptions, type CallBounds } from './answer-call.ts'
import { allowOrigins } from './cors.ts'
import { NotFound } from './not-found.ts'
import { OpenCalls } from './open-calls.ts'
import { checkRequests, PipelinedRequests } from './request-checks.ts'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Endpoint } from '../core/endpoint.ts'

export type { Middleware } from 'koa'

export interface AppBounds extends CallBounds, AdmissionBounds {
  /** Requests of one connection that may be unanswered at a time. */
  readonly pipelinedRequests: number
}

/** What a new configuration changes. */
export interface AppConfiguration {
  readonly endpoints: readonly Endpoint[]
  readonly bounds: AppBounds
}

export interface AppOptions extends AnswerOptions, AppConfiguration {
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
  /** Applies a new configuration from the next call on. */
  readonly apply: (configuration: AppConfiguration) => void
  /** Ends every open call with `reason`. */
  readonly abortAll: (reason: GatewayError) => void
}

export function createApp (options: AppOptions): App {
  const { allowsHost = () => true, corsOrigins = [] } = options
  let { bounds } = options
  const open = new OpenCalls()
  const admission = new Admission(bounds)
  const pipelining = new PipelinedRequests(bounds.pipelinedRequests)
  const answer = answerCalls({ options, bounds: () => bounds, admission, open })
  const route = (endpoints: readonly Endpoint[]): Middleware => nest([
    allowOrigins(corsOrigins, endpoints),
    checkRequests(pipelining, allowsHost, answer),
    ...endpointRoutes(endpoints, answer)
  ])
  let routes = route(options.endpoints)
  const middleware: Middleware = (context, next) => routes(context, next)
  const koa = new Koa()
  koa.silent = true // Koa would print the errors of sockets whose callers left; the log of calls has them
  for (const step of [...options.middleware ?? [], middleware]) koa.use(step)
  const listener = koa.callback()

  return {
    handle: (request, response) => { void listener(request, response) },
    middleware,
    whenIdle: async () => await open.whenIdle(),
    openRequests: () => open.size,
    admission,
    apply: next => {
      routes = route(next.endpoints)
      bounds = next.bounds
      admission.applyBounds(bounds)
      pipelining.maxUnanswered = bounds.pipelinedRequests
    },
    abortAll: reason => { for (const { abort } of open) abort(reason) }
  }
}

/** Composes middleware in the order of the list, like a Koa app: each gets the rest as `next`. */
function nest (steps: readonly Middleware[]): Middleware {
  // Our middleware always returns a promise.
  return steps.reduce(
    (outer, inner): Middleware =>
      (context, next) =>
        outer(context, () => inner(context, next) as Promise<unknown>)
  )
}

/**
 * Returns three middleware functions, in the order in which a request passes them:
 * - paths without parameters, by one lookup: a router would try a regular expression for each;
 * - paths with parameters, by @koa/router;
 * - 404 or 405 for requests that no endpoint serves and no later middleware answers.
 */
function endpointRoutes (endpoints: readonly Endpoint[], answer: AnswerHandler): readonly Middleware[] {
  const byPath = new Map<string, Map<string, Endpoint>>()
  const router = new Router()
  for (const endpoint of endpoints) {
    const { method, path } = endpoint
    if (hasParameters(path)) {
      router.register(path, [method.toLowerCase()], async context => {
        await answer(context, endpoint, context.params)
      })
      continue
    }
    const methods = byPath.get(path) ?? new Map<string, Endpoint>()
    byPath.set(path, methods.set(method, endpoint))
    if (method === 'GET') methods.set('HEAD', endpoint)
  }

  /** Returns the endpoints of a path by method. As in the router, case and a trailing slash do not matter. */
  const methodsAt = (path: string): Map<string, Endpoint> | undefined =>
    byPath.get(path) ?? byPath.get(path.toLowerCase().replace(/(?<=.)\/$/, ''))

  const notFound = new NotFound(
    endpoints.flatMap(({ path, isAlias }) => (isAlias === true ? [] : [path]))
  )

  return [
    (context, next) => {
      const endpoint = methodsAt(context.path)?.get(context.method)
      return endpoint === undefined ? next() : answer(context, endpoint)
    },
    router.routes() as Middleware, // its type requires the fields that it adds to the context
    async (context, next) => {
      await next()
      if (isAnswered(context)) return
      const matched: ReadonlyArray<Pick<Layer, 'methods'>> = context.matched // set by the router
      const methods = [...methodsAt(context.path)?.keys() ?? [], ...matched.flatMap(layer => layer.methods)]
      if (methods.length === 0) return await answer(context, notFound.errorOf(context.method, context.path))
      const allowed = [...new Set(methods)].join(', ')
      context.set('allow', allowed)
      await answer(context, wrongMethod(context.req, allowed))
    }
  ]
}

function hasParameters (path: string): boolean {
  return /[:*{]/.test(path)
}

function isAnswered ({ respond, status, body, headerSent }: Context): boolean {
  return respond === false || status !== 404 || body !== undefined || headerSent
}

/**
 * Clients that try WebSocket first fall back to POST immediately on 426, and only after several tries on
 * another status.
 */
function wrongMethod ({ headers }: IncomingMessage, allowed: string): GatewayError {
  if (headers.upgrade?.toLowerCase() !== 'websocket') {
    return new GatewayError('method_not_allowed', {
      message: `This method is not available at this path. Available: ${allowed}.`
    })
  }
  return new GatewayError('method_not_allowed', {
    status: 426,
    message: 'WebSocket is not available. Send the request with POST.'
  })
}
