/**
 * Makes calls of requests, and answers of replies: the edge, on Koa.
 *
 * Knows the endpoints it is given and nothing behind them. Koa does not write the answers
 * (`ctx.respond = false`): handing it a stream costs 50 % more per event, and it would
 * cut a stream without a word when it fails.
 */

import { Router } from '@koa/router'
import { watched } from '../core/body-capture.ts'
import { GatewayError, asGatewayError } from '../core/errors.ts'
import { chatCompletionsErrors } from '../dialects/chat-completions/errors.ts'
import { noteError } from '../core/record.ts'
import { Admission, type AdmissionLimits } from './admission.ts'
import { KoaWithoutResponseHandling } from './node-internals.ts'
import { NotFound } from './not-found.ts'
import { OpenCall, OpenCalls } from './open-calls.ts'
import { Pipelining } from './pipelining.ts'
import { readCall, type EdgeLimits } from './read-call.ts'
import { writeReply } from './write-reply.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import type { Call, RecordAnswer } from '../core/call.ts'
import type { Endpoint } from '../core/endpoint.ts'
import type { Reply } from '../core/reply.ts'

/** Longest method and path in the log; a query may hold secrets and is left out. */
const maxLoggedTarget = 200

export interface AppLimits extends EdgeLimits, AdmissionLimits {
  /** The longest that a call may take. */
  readonly callMs: number
  /** Requests of one connection that may wait for an answer. */
  readonly pipelinedRequests: number
}

export interface AppOptions {
  /** Read anew for every call, so that a new configuration is used from the next call on. */
  readonly endpoints: () => readonly Endpoint[]
  /** In effect until `applyLimits`. */
  readonly limits: AppLimits
  /** Returns whether a `Host` header names this gateway. Default: any does. */
  readonly allowsHost?: (header: string) => boolean
  /** Writes an error before the head of an answer. Default: as chat completions do. */
  readonly errorReply?: (failure: GatewayError, call: Call, path: string) => Reply
  /** True once no new calls should come over connections that are kept alive. */
  readonly draining: () => boolean
  /** Called with each call whose answer is complete but for its last byte, which waits for the result. */
  readonly beforeLastByte?: RecordAnswer
  /** Called with the error when uploaded files of a call could not be deleted. */
  readonly onUploadDeleteFailed?: (error: unknown) => void
  /** Called after each call, once its answer is written or abandoned and its record is complete. */
  readonly onEnd: (call: Call) => void
}

export interface App {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
  /** Resolves when the calls that are open now have ended; later ones do not count. */
  readonly whenIdle: () => Promise<void>
  /** Open calls, those of callers without a key included. */
  readonly openCalls: () => number
  /** The amounts that open calls hold of the bounded resources. */
  readonly admission: Pick<Admission, 'openCalls' | 'inUse'>
  /** Applies the limits of a new configuration from the next call on. */
  readonly applyLimits: (limits: AppLimits) => void
  /** Ends every open call with `reason`. */
  readonly abortAll: (reason: GatewayError) => void
}

/** @param options `endpoints()` must always give the same paths in the same order */
export function createApp (options: AppOptions): App {
  const app = new KoaWithoutResponseHandling()
  const router = new Router()
  const open = new OpenCalls()
  const { allowsHost = () => true, errorReply = chatCompletionsErrors } = options
  let { limits } = options
  const admission = new Admission(limits)
  const pipelining = new Pipelining(limits.pipelinedRequests)
  const waiting = new Set<{ readonly calls: Set<OpenCall>, readonly resolve: () => void }>()

  const end = (entry: OpenCall): void => {
    open.delete(entry)
    for (const waiter of waiting) {
      waiter.calls.delete(entry)
      if (waiter.calls.size > 0) continue
      waiting.delete(waiter)
      waiter.resolve()
    }
  }

  const write = (response: ServerResponse, reply: Reply, call: Call): Promise<void> =>
    writeReply(response, watched(reply, call.record), call, limits.graceMs, options.beforeLastByte)

  /**
   * Nothing is suspended here while the answer is written: an `async` function takes 0.8 KB for as long as a stream is open.
   *
   * @param target the endpoint, or why the request is for none
   */
  const run = (
    request: IncomingMessage, response: ServerResponse, target: Endpoint | GatewayError, params: Record<string, string>
  ): void => {
    const endpoint = target instanceof GatewayError ? undefined : target
    const { call, abort, close } = readCall(request, response, params, endpoint, limits, admission)
    const entry = new OpenCall(call, abort, call.receivedAtMs + limits.callMs)
    open.add(entry)
    if (options.draining()) response.shouldKeepAlive = false

    const onEnded = (): void => {
      try {
        if (!request.complete) discardBody(request)
        const { whenUsageKnown } = call.record
        if (whenUsageKnown === undefined) return finish()
        whenUsageKnown.then(finish).catch(() => response.destroy())
      } catch {
        response.destroy()
      }
    }
    const finish = (): void => {
      const { record, signal } = call
      end(entry)
      close(options.onUploadDeleteFailed)
      record.outcome ??= signal.aborted ? noteError(record, signal.reason) : 'ok'
      // Whatever the head had said: the caller did not read the answer to its end.
      if (record.outcome === 'client_closed') record.status = 499
      if (endpoint === undefined) noteRequest(call, request)
      options.onEnd(call)
    }
    const onFailed = async (error: unknown): Promise<void> => {
      try {
        const failure = asGatewayError(error)
        abort(failure) // releases what the pipeline has open
        noteError(call.record, failure)
        call.record.status ??= failure.status
        if (response.headersSent || response.destroyed) response.destroy()
        else await write(response, errorReply(failure, call, pathOf(request)), call)
      } catch {
        response.destroy()
      }
      onEnded()
    }
    const onReply = (reply: Reply): void => {
      try {
        write(response, reply, call).then(onEnded, onFailed)
      } catch (error) {
        void onFailed(error)
      }
    }
    try {
      if (target instanceof GatewayError) throw target
      target.handle(call).then(onReply, onFailed)
    } catch (error) {
      void onFailed(error)
    }
  }

  /** Answers a request; whatever goes wrong beyond the answer itself ends this connection and no other. */
  const answer: typeof run = (request, response, target, params) => {
    try {
      run(request, response, target, params)
    } catch {
      response.destroy()
    }
  }

  const respond = (context: Context, target: Endpoint | GatewayError, params: Record<string, string> = {}): void => {
    context.respond = false
    answer(context.req, context.res, target, params)
  }

  /** Endpoints whose path has no parameters: they are found before Koa makes its context, which takes 3 µs, and its router looks, 8 µs. */
  const staticPaths = new Map<string, Map<string, number>>()
  for (const [index, { method, path }] of options.endpoints().entries()) {
    if (!/[:*{]/.test(path)) staticPaths.set(path, (staticPaths.get(path) ?? new Map<string, number>()).set(method, index))
    router.register(path, [method.toLowerCase()], context => {
      const endpoint = options.endpoints()[index]
      if (endpoint !== undefined) respond(context, endpoint, context['params'])
    })
  }

  const notFound = new NotFound(options.endpoints().map(({ path }) => path))

  /** Finds the endpoint of a request, or its refusal, without Koa. */
  const targetOf = (request: IncomingMessage): Endpoint | GatewayError | undefined => {
    const { url = '', method = '' } = request
    return refusalOf(request, allowsHost) ?? options.endpoints()[staticPaths.get(url)?.get(method) ?? -1]
  }

  app.use(async (context, next) => {
    if (hasReadableUrl(context)) return await next()
    respond(context, new GatewayError('invalid_value', { message: 'The URL of the request is not valid.' }))
  })
  app.use(router.routes())
  app.use(context => {
    const methods = new Set(router.match(context.path, context.method).path.flatMap(layer => layer.methods))
    if (methods.size > 0) context.res.setHeader('allow', [...methods].join(', '))
    respond(context, methods.size === 0 ? notFound.errorOf(context.method, context.path) : wrongMethod(context.req))
  })
  app.silent = true
  const callback = app.callback()

  return {
    handle: (request, response) => {
      switch (pipelining.admit(request, response)) {
        case 'serve': {
          const target = targetOf(request)
          if (target === undefined) void callback(request, response)
          else answer(request, response, target, {})
          return
        }
        case 'refuse': return answer(request, response, tooManyOutstanding(limits.pipelinedRequests), {})
        case 'drop': return undefined
      }
    },
    whenIdle: async () => {
      if (open.size === 0) return
      await new Promise<void>(resolve => { waiting.add({ calls: new Set(open), resolve }) })
    },
    openCalls: () => open.size,
    admission,
    applyLimits: next => {
      limits = next
      admission.applyLimits(next)
      pipelining.maxOutstanding = next.pipelinedRequests
    },
    abortAll: reason => { for (const { abort } of open) abort(reason) }
  }
}

/** Returns whether the target can be parsed: callers may write anything, `http://[` too. */
function hasReadableUrl (context: Context): boolean {
  try {
    return typeof context.path === 'string'
  } catch {
    return false
  }
}

/** Returns why no endpoint can answer a request, whichever it is for. */
function refusalOf ({ headers, httpVersion }: IncomingMessage, allowsHost: (header: string) => boolean): GatewayError | undefined {
  if (headers.host !== undefined && !allowsHost(headers.host)) {
    return new GatewayError('invalid_value', { status: 421, message: 'The gateway is not served under the host name of the request. The operator can list it in `server.accepted_hosts`.' })
  }
  if (httpVersion !== '1.1') return undefined // older callers know neither header
  // https://www.rfc-editor.org/rfc/rfc9112#section-3.2
  if (headers.host === undefined) return new GatewayError('invalid_value', { message: 'The request has no Host header.' })
  // https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) {
    return new GatewayError('invalid_value', { status: 417, message: 'Only the expectation `100-continue` is supported.' })
  }
  return undefined
}

/** Clients that try WebSocket first fall back to POST on 426 at once, and on other statuses only after several tries. */
function wrongMethod ({ headers }: IncomingMessage): GatewayError {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return new GatewayError('method_not_allowed')
  return new GatewayError('method_not_allowed', { status: 426, message: 'WebSocket is not available. Send the request with POST.' })
}

function tooManyOutstanding (limit: number): GatewayError {
  return new GatewayError('overloaded', { message: `Too many pipelined requests on this connection (limit ${limit}).` })
}

/** Notes method and path of a request that no endpoint serves, for the log. */
function noteRequest ({ record }: Call, request: IncomingMessage): void {
  record.unmatchedRequest = `${request.method ?? ''} ${pathOf(request)}`.slice(0, maxLoggedTarget)
}

/** Returns the path as the caller wrote it, without the query. */
function pathOf ({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? url
}

/**
 * Reads and drops the rest of a body for a moment, then closes: the caller may still be sending it and
 * must get to read the answer.
 */
function discardBody (request: IncomingMessage): void {
  // Not the response's `close`: that comes as soon as the answer is written.
  const timer = setTimeout(() => request.destroy(), 2000)
  request.once('close', () => clearTimeout(timer))
  request.resume()
}
