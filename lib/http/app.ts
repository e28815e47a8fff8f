/**
 * The Koa edge: requests become calls, replies become answers, whatever happens in between.
 *
 * Knows endpoints as they are given and nothing behind them. Koa's own body handling is passed by
 * (`ctx.respond = false`): handing it a stream costs half as much again per event, and it would
 * cut a stream without a word when it fails.
 */

import Koa, { type Context } from 'koa'
import { Router } from '@koa/router'
import { GatewayError, asGatewayError } from '../core/errors.ts'
import { noteError } from '../core/record.ts'
import { Link, OpenCalls } from './open-calls.ts'
import { readCall, type EdgeLimits } from './read-call.ts'
import { writeReply } from './write-reply.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../core/call.ts'
import type { Endpoint } from '../core/endpoint.ts'
import type { Reply } from '../core/reply.ts'

export interface AppOptions {
  /** Read anew for every call, so that a new configuration holds from the next call on. */
  readonly endpoints: () => readonly Endpoint[]
  readonly limits: EdgeLimits & { readonly openCalls: number }
  /** True once no new calls should come over connections that are kept alive. */
  readonly draining: () => boolean
  /** After each call, once its answer is written or given up and its record is complete. */
  readonly onEnd: (call: Call) => void
}

export interface App {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
  /** Resolves when the calls that are under way now have ended; later ones do not count. */
  readonly settled: () => Promise<void>
  readonly underWay: () => number
  /** Ends every call under way with `reason`. */
  readonly abortAll: (reason: GatewayError) => void
}

/** @param options `endpoints()` must always give the same paths in the same order */
export function createApp (options: AppOptions): App {
  const app = new Edge()
  const router = new Router()
  const open = new OpenCalls()
  const waiting = new Set<{ readonly calls: Set<Link>, readonly resolve: () => void }>()

  const end = (link: Link): void => {
    open.delete(link)
    for (const waiter of waiting) {
      waiter.calls.delete(link)
      if (waiter.calls.size > 0) continue
      waiting.delete(waiter)
      waiter.resolve()
    }
  }

  const answer = async (context: Context, endpoint: Endpoint, params: Record<string, string>): Promise<void> => {
    context.respond = false
    const { req: request, res: response } = context
    const { limits } = options
    const { call, abort, close } = readCall(request, response, params, endpoint, limits)
    const link = new Link(abort)
    open.add(link)
    if (options.draining()) response.shouldKeepAlive = false
    try {
      // Without a body a call asks for little: a process that is busy must still say that it lives.
      if (open.size > limits.openCalls && endpoint.body !== 'none') throw new GatewayError('overloaded')
      await writeReply(response, await endpoint.handle(call), call, limits.graceMs)
    } catch (error) {
      const failure = asGatewayError(error)
      abort(failure) // what the pipeline has open, it has open for nobody now
      await writeError(response, failure, call, limits.graceMs)
    } finally {
      if (!request.complete) leaveUnread(request)
      if (call.record.settled !== undefined) await call.record.settled
      end(link)
      close()
      call.record.outcome ??= call.signal.aborted ? noteError(call.record, call.signal.reason) : 'ok'
      // Whatever had been begun by then: nobody read it to its end.
      if (call.record.outcome === 'client_closed') call.record.status = 499
      options.onEnd(call)
    }
  }

  /** Where the endpoints are that are written as they are called: looking through all of them takes 8 µs. */
  const plain = new Map<string, number>()
  for (const [index, { method, path }] of options.endpoints().entries()) {
    if (!/[:*{]/.test(path)) plain.set(`${method} ${path}`, index)
    router.register(path, [method.toLowerCase()], async context => {
      const endpoint = options.endpoints()[index]
      if (endpoint !== undefined) await answer(context, endpoint, context['params'])
    })
  }

  app.use(async (context, next) => {
    const { method, url, headers, httpVersion } = context.req
    if (headers.host === undefined && httpVersion === '1.1') return await answer(context, failing(context.req, noHost()), {})
    const endpoint = options.endpoints()[plain.get(`${method} ${url}`) ?? -1]
    if (endpoint !== undefined) return await answer(context, endpoint, {})
    if (readableUrl(context)) return await next()
    await answer(context, failing(context.req, unreadableUrl()), {})
  })
  app.use(router.routes())
  app.use(async context => {
    const methods = new Set(router.match(context.path, context.method).path.flatMap(layer => layer.methods))
    if (methods.size > 0) context.res.setHeader('allow', [...methods].join(', '))
    await answer(context, failing(context.req, new GatewayError(methods.size > 0 ? 'method_not_allowed' : 'not_found')), {})
  })
  app.silent = true
  const callback = app.callback()

  return {
    handle: (request, response) => { void callback(request, response) },
    settled: async () => {
      if (open.size === 0) return
      await new Promise<void>(resolve => { waiting.add({ calls: new Set(open), resolve }) })
    },
    underWay: () => open.size,
    abortAll: reason => { for (const { abort } of open) abort(reason) }
  }
}

/**
 * Koa as far as it is used here. Its own way of handling a request also listens for the end of every
 * response, to report what we report ourselves, and answers for middleware that has not: 5 µs.
 */
class Edge extends Koa {
  async handleRequest (context: Context, middleware: (context: Context) => Promise<void>): Promise<void> {
    try {
      await middleware(context)
    } catch (error) {
      context.onerror(asGatewayError(error))
    }
  }
}

/** Longest method and path in the log; a query may hold secrets and is left out. */
const maxLoggedTarget = 200

/** The target of a request is whatever the caller wrote: `http://[` is none that can be taken apart. */
function readableUrl (context: Context): boolean {
  try {
    return typeof context.path === 'string'
  } catch {
    return false
  }
}

function unreadableUrl (): GatewayError {
  return new GatewayError('invalid_value', { message: 'The URL of the request cannot be read.' })
}

/** @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2 */
function noHost (): GatewayError {
  return new GatewayError('invalid_value', { message: 'The request has no Host header.' })
}

/** Returns an endpoint that refuses: a call like any other, so that it has an id and a line in the log, which names the request. */
function failing ({ method = '', url = '' }: IncomingMessage, error: GatewayError): Endpoint {
  return {
    name: 'none',
    method: 'GET',
    path: '',
    body: 'none',
    maxBodyBytes: 0,
    handle: async ({ record }) => {
      record.unrouted = `${method} ${url.split('?', 1)[0]}`.slice(0, maxLoggedTarget)
      throw error
    }
  }
}

/** An error before the first byte is a status and a body; after it, the socket is all there is. */
async function writeError (
  response: ServerResponse, failure: GatewayError, call: Call, graceMs?: number
): Promise<void> {
  noteError(call.record, failure)
  call.record.status ??= failure.status
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  await writeReply(response, errorReply(failure), call, graceMs)
}

function errorReply (failure: GatewayError): Reply {
  return {
    status: failure.status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...failure.headers() },
    body: JSON.stringify(failure.toBody())
  }
}

/**
 * The rest of a body that nobody will read. The caller may still be sending it and must get to
 * read the answer: take it in for a moment and throw it away, then close.
 */
function leaveUnread (request: IncomingMessage): void {
  // Not the response's `close`: that comes as soon as the answer is written.
  const timer = setTimeout(() => request.destroy(), 2000)
  request.once('close', () => clearTimeout(timer))
  request.resume()
}
