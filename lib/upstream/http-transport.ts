/**
 * Sends requests to providers: the only HTTP client that does.
 *
 * undici's client, driven through `dispatch`: the body is read by events and handed
 * on with back-pressure, which costs about four fifths of `request` and a sixth of `fetch`.
 * Redirects are never followed, so a credential cannot travel to another host.
 *
 * Requests wait for a socket in a queue of the gateway: undici keeps what is queued, with its body, even
 * after it was aborted, and the clock of an answer should not run before its request is sent.
 */

import type { buildConnector, Dispatcher } from 'undici'
import createConnector from 'undici/lib/core/connect.js'
import { BodyQueue } from './body-queue.ts'
import { Connections, type Connection } from './connections.ts'
import { skip100Continue } from './skip-100-continue.ts'
import { bufferBody } from '../wire/buffer-body.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import { isHeaderSafe } from '../text/header-value.ts'
import { decompressed } from './decompress.ts'
import { GatewayError } from '../core/errors.ts'
import { Semaphore, type Waiter } from '../async/semaphore.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import type { Secret } from '../core/secret.ts'
import type { SendOptions, Transport, TransportLoad, UpstreamResponse, UpstreamRequest } from '../providers/provider.ts'

export interface HttpTransportOptions {
  /** `https://host/prefix`; request paths are appended to it, and its query to theirs. */
  readonly baseUrl: string
  /** Sockets to it at most; further requests wait for a free one. Default: any number. */
  readonly connections?: number | undefined
  /** Requests that may wait for a socket; more are 503. Default: any number. */
  readonly maxWaiting?: number
  /** Milliseconds that a request waits for a socket; then it is 503. Default: as long as its signal lets it. */
  readonly maxWaitingMs?: number
  readonly connectMs: number
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, Secret>>
}

export interface HttpTransport extends Transport {
  /** Waits for open requests, then closes the sockets. */
  readonly close: () => Promise<void>
  readonly load: () => TransportLoad
}

/** Holds what the requests to one provider share. */
interface Shared {
  readonly connections: Connections
  readonly semaphore: Semaphore
  readonly maxWaitingMs: number | undefined
  refused: number
}

/** A body of so many characters takes a few milliseconds to encode. */
const largeBodyLength = 2 * 1024 * 1024

/** Carries requests to one provider over HTTP/1.1. */
export function httpTransport (options: HttpTransportOptions): HttpTransport {
  const base = new URL(options.baseUrl)
  const prefix = withoutTrailingSlashes(base.pathname)
  const connections = new Connections(base.origin, {
    pipelining: 1,
    connect: connectorFor(options.connectMs),
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000
  })
  const fixed: Record<string, string> = { 'user-agent': 'headgate', 'accept-encoding': 'identity' }
  for (const [name, value] of Object.entries(options.headers ?? {})) fixed[name.toLowerCase()] = value.reveal()

  const semaphore = new Semaphore(options.connections ?? Infinity, options.maxWaiting)
  const shared: Shared = { connections, semaphore, maxWaitingMs: options.maxWaitingMs, refused: 0 }
  let closed = false
  const close = async (): Promise<void> => {
    await new Promise<void>(resolve => { semaphore.whenIdle(resolve) })
    closed = true
    await connections.close()
  }
  let closing: Promise<void> | undefined
  return {
    send: (request, sendOptions) => new Promise((resolve, reject) => {
      const send = (body: UpstreamRequest['body']): void => {
        const { signal, credential } = sendOptions
        if (signal.aborted) throw signal.reason
        if (closed) throw new GatewayError('upstream_unreachable', { cause: 'the transport is closed' })
        const headers = Object.assign({}, fixed, request.headers, credential)
        checkHeaders(headers)
        const path = withQuery(prefix + request.path, base.search)
        new Exchange(sendOptions, shared, resolve, reject).start({ path, method: request.method, headers, body: dispatchBody(body) })
      }
      const prepared = preparedBody(request)
      if (prepared instanceof Promise) prepared.then(send).catch(reject)
      else send(prepared)
    }),
    close: async () => await (closing ??= close()),
    load: () => ({ connections: connections.open, waiting: semaphore.waiting, refused: shared.refused })
  }
}

function connectorFor (timeoutMs: number): buildConnector.connector {
  const connect = createConnector({ timeout: timeoutMs })
  return (options, callback) => {
    connect(options, (...args) => {
      if (args[0] === null) skip100Continue(args[1])
      callback(...args)
    })
  }
}

/** Another model may answer instead; the provider is not to blame, and another attempt would wait in the same line. */
function tooManyWaiting (): GatewayError {
  return new GatewayError('overloaded', {
    message: 'Too many calls are waiting for this provider. Try again later.',
    fault: 'model'
  })
}

/** Keys are checked where they come in; what slips through must not cost a connection. */
function checkHeaders (headers: Readonly<Record<string, string>>): void {
  for (const name in headers) {
    if (isHeaderSafe(headers[name] ?? '')) continue
    throw new GatewayError('internal_error', { cause: `the header ${name} cannot be sent` })
  }
}

/** @param search a query with its `?`, or the empty text */
function withQuery (path: string, search: string): string {
  return path.includes('?') ? path + search.replace('?', '&') : path + search
}

/** Recognises JSON that is printed in parts: some servers take none without its length. */
function isLargeJson ({ body, headers }: UpstreamRequest): boolean {
  return typeof body === 'function' && headers['content-type'] === 'application/json' && headers['content-length'] === undefined
}

/** Returns the body to send: what printed a large one has taken a turn of the event loop; to encode and write it takes another. */
function preparedBody (request: UpstreamRequest): UpstreamRequest['body'] | Promise<UpstreamRequest['body']> {
  const { body } = request
  if (typeof body === 'string') return body.length > largeBodyLength ? yieldFairly().then(() => body) : body
  return isLargeJson(request) ? bufferBody(body) : body
}

/** A body that may be sent again, for a retry, is a function that opens it anew. */
function dispatchBody (body: UpstreamRequest['body']): Exclude<Dispatcher.DispatchOptions['body'], undefined> {
  if (body === undefined) return null
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  // undici takes any async iterable as a body and says so only in its documentation.
  return body() as unknown as Exclude<Dispatcher.DispatchOptions['body'], undefined>
}

/**
 * One request, from its place in line on. Settles its promise with the head, then feeds the body's
 * queue. A single timer guards whichever wait is the current one: for the head, then between two
 * reads. The place is free again when undici has released the request, however it ended.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: SendOptions
  readonly #shared: Shared
  readonly #onAbort: () => void
  readonly #resolve: (answer: UpstreamResponse) => void
  readonly #reject: (error: unknown) => void
  #controller: Dispatcher.DispatchController | undefined
  #queue: BodyQueue | undefined
  #waiter: Waiter | undefined
  #connection: Connection | undefined
  #timer: NodeJS.Timeout | undefined
  #failure: unknown

  constructor (options: SendOptions, shared: Shared, resolve: (answer: UpstreamResponse) => void, reject: (error: unknown) => void) {
    this.#options = options
    this.#shared = shared
    this.#resolve = resolve
    this.#reject = reject
    this.#onAbort = () => this.#stop(options.signal.reason)
    options.signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Sends the request when there is a place, unless the signal aborts before. */
  start (request: Dispatcher.DispatchOptions): void {
    const { semaphore, maxWaitingMs } = this.#shared
    const waiter: Waiter = {
      enter: () => {
        this.#waiter = undefined // what was sent is not kept for as long as the answer takes
        this.#send(request)
      },
      refuse: () => {
        this.#waiter = undefined
        this.#refuse()
      }
    }
    this.#waiter = waiter
    semaphore.acquire(waiter, this.#options.keyId ?? '')
    // Most have been sent by now.
    if (this.#waiter !== undefined && maxWaitingMs !== undefined) this.#timer = setTimeout(() => this.#refuse(), maxWaitingMs)
  }

  #send (request: Dispatcher.DispatchOptions): void {
    const { timeouts, streamed } = this.#options
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#timedOut(), streamed ? timeouts.firstByteMs : timeouts.responseMs)
    this.#connection = this.#shared.connections.acquire()
    this.#connection.dispatch(request, this)
  }

  #refuse (): void {
    this.#shared.refused++
    this.#stop(tooManyWaiting())
  }

  onRequestStart (controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#failure !== undefined) controller.abort(asError(this.#failure))
  }

  onResponseStart (
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>
  ): void {
    if (status < 200 || this.#failure !== undefined) return
    controller.rawHeaders = null // slices of the first read, which may hold 64 KiB of the body as well
    clearTimeout(this.#timer)
    const { idleBytesMs } = this.#options.timeouts
    this.#timer = setTimeout(() => this.#timedOut(), idleBytesMs)
    const queue = new BodyQueue({
      pause: () => {
        clearTimeout(this.#timer)
        controller.pause()
      },
      resume: () => {
        this.#timer = setTimeout(() => this.#timedOut(), idleBytesMs)
        controller.resume()
      },
      cancel: () => this.#stop(new GatewayError('upstream_stream_interrupted'))
    })
    this.#queue = queue
    this.#resolve({ status, headers, body: decompressed(queue, headers['content-encoding']) })
  }

  onResponseData (_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.#timer?.refresh()
    this.#queue?.push(bytes)
  }

  onResponseEnd (): void {
    this.#unlisten()
    this.#queue?.end()
    this.#release()
  }

  onResponseError (_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#failure ?? (this.#queue === undefined
      ? new GatewayError('upstream_unreachable', { cause: error })
      : new GatewayError('upstream_stream_interrupted', { cause: error })))
    this.#release()
  }

  #timedOut (): void {
    this.#stop(new GatewayError('upstream_timeout'))
  }

  /** Ends the exchange from our side; its socket is closed, now or as soon as there is one. */
  #stop (reason: unknown): void {
    this.#failure ??= reason
    this.#fail(this.#failure)
    if (this.#waiter !== undefined && this.#shared.semaphore.cancel(this.#waiter, this.#options.keyId ?? '')) return
    this.#controller?.abort(asError(this.#failure))
  }

  #fail (error: unknown): void {
    this.#unlisten()
    this.#reject(error)
    this.#queue?.fail(error)
  }

  #release (): void {
    if (this.#connection === undefined) return
    this.#shared.connections.release(this.#connection)
    this.#connection = undefined
    this.#shared.semaphore.release()
  }

  #unlisten (): void {
    clearTimeout(this.#timer)
    this.#options.signal.removeEventListener('abort', this.#onAbort)
  }
}


function asError (reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason })
}
