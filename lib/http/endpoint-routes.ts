/** Finds the endpoint of a request by method and path. */

import { Router, type Layer } from '@koa/router'
import { GatewayError } from '../core/errors.ts'
import { NotFound } from './not-found.ts'
import type { IncomingMessage } from 'node:http'
import type { Context, Middleware } from 'koa'
import type { Endpoint } from '../core/endpoint.ts'
import type { AnswerCall } from './answer-call.ts'

/** The endpoints in effect. */
export interface LiveEndpoints {
  readonly endpoints: readonly Endpoint[]
}

/**
 * Returns three middleware functions, in the order in which a request passes them:
 * - paths without parameters, by one lookup: a router would try a regular expression for each;
 * - paths with parameters, by @koa/router;
 * - 404 or 405 for requests that no endpoint serves and no later middleware answers.
 *
 * @param live its endpoints must always have the same paths in the same order
 */
export function endpointRoutes (live: LiveEndpoints, answer: AnswerCall): readonly Middleware[] {
  const byPath = new Map<string, Map<string, number>>()
  const router = new Router()
  for (const [index, { method, path }] of live.endpoints.entries()) {
    if (hasParameters(path)) {
      router.register(path, [method.toLowerCase()], async context => {
        const endpoint = live.endpoints[index]
        if (endpoint !== undefined) await answer(context, endpoint, context.params)
      })
      continue
    }
    const methods = byPath.get(path) ?? new Map<string, number>()
    byPath.set(path, methods.set(method, index))
    if (method === 'GET') methods.set('HEAD', index)
  }

  /** Returns the methods of a path. As in the router, case and a trailing slash do not matter. */
  const methodsAt = (path: string): Map<string, number> | undefined =>
    byPath.get(path) ?? byPath.get(path.toLowerCase().replace(/(?<=.)\/$/, ''))

  const notFound = new NotFound(
    live.endpoints.flatMap(({ path, isAlias }) => (isAlias === true ? [] : [path]))
  )

  return [
    (context, next) => {
      const endpoint = live.endpoints[methodsAt(context.path)?.get(context.method) ?? -1]
      return endpoint === undefined ? next() : answer(context, endpoint)
    },
    router.routes() as Middleware, // its type requires the fields that it adds to the context
    async (context, next) => {
      await next()
      if (isAnswered(context)) return
      const matched: ReadonlyArray<Pick<Layer, 'methods'>> = context.matched // set by the router
      const methods = [...methodsAt(context.path)?.keys() ?? [], ...matched.flatMap(layer => layer.methods)]
      if (methods.length === 0) return await answer(context, notFound.errorOf(context.method, context.path))
      context.set('allow', [...new Set(methods)].join(', '))
      await answer(context, wrongMethod(context.req))
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
function wrongMethod ({ headers }: IncomingMessage): GatewayError {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return new GatewayError('method_not_allowed')
  return new GatewayError('method_not_allowed', {
    status: 426,
    message: 'WebSocket is not available. Send the request with POST.'
  })
}
