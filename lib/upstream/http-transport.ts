/**
 * Sends requests to providers: the only HTTP client that does.
 *
 * A client of our own, over HTTP/1.1 (`connection`): the body is read by events and handed on with back-pressure.
 * undici's, driven through `dispatch`, takes 46 µs more of a JSON call that is alone (its next request waits for a turn of the event
 * loop) and 5 of one among 32, and has to be loaded at the start. Redirects are never followed, so a credential cannot travel to another host.
 *
 * Requests wait for a socket in a queue of the gateway, so that the clock of an answer does not run before its request is sent.
 */

import { BodyQueue, type BodySource } from '../client/body-queue.ts'
import { connector } from './connector.ts'
import { RequestHeaders } from './request-headers.ts'
import { Connections } from './connections.ts'
import type { Connection, ExchangeHandler, OutgoingRequest } from './connection.ts'
import { InvalidResponse, type ResponseHeaders } from './response-parser.ts'
import { bufferBody } from '../wire/buffer-body.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import { decompressed } from '../client/decompress.ts'
import { GatewayError } from '../core/errors.ts'
import { Semaphore, type Waiter } from '../async/semaphore.ts'
import { TimedMember, sharedTimer, type SharedTimer } from '../async/shared-timer.ts'
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
  const connections = new Connections(connector(base, options.connectMs))
  const fixed: Record<string, string> = { host: base.host, 'user-agent': 'headgate', 'accept-encoding': 'identity' }
  for (const [name, value] of Object.entries(options.headers ?? {})) fixed[name.toLowerCase()] = value.reveal()
  const requestHeaders = new RequestHeaders(fixed)

  const semaphore = new Semaphore(options.connections ?? Infinity, options.maxWaiting)
  const shared: Shared = { connections, semaphore, maxWaitingMs: options.maxWaitingMs, refused: 0 }
  let closed = false
  const close = async (): Promise<void> => {
    await new Promise<void>(resolve => { semaphore.whenIdle(resolve) })
    closed = true
    connections.close()
  }
  let closing: Promise<void> | undefined
  return {
    send: (request, sendOptions) => new Promise((resolve, reject) => {
      const send = (body: UpstreamRequest['body']): void => {
        const { signal, credential } = sendOptions
        if (signal.aborted) throw signal.reason
        if (closed) throw new GatewayError('upstream_unreachable', { cause: 'the transport is closed' })
        const headers = requestHeaders.of(request.headers, credential)
        const path = withQuery(prefix + request.path, base.search)
        new Exchange(sendOptions, shared, resolve, reject).start({ path, method: request.method, headers, body: typeof body === 'function' ? body() : body })
      }
      const prepared = preparedBody(request)
      if (prepared instanceof Promise) prepared.then(send).catch(reject)
      else send(prepared)
    }),
    close: async () => await (closing ??= close()),
    load: () => ({ connections: connections.open, waiting: semaphore.waiting, refused: shared.refused })
  }
}

/** Another model may answer instead; the provider is not to blame, and another attempt would wait in the same line. */
function tooManyWaiting (): GatewayError {
  return new GatewayError('overloaded', {
    message: 'Too many calls are waiting for this provider. Try again later.',
    fault: 'model'
  })
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

/**
 * One request, from its place in line on. Settles its promise with the head, then feeds the body's
 * queue. A single timer guards whichever wait is the current one: for the head, then between two
 * reads. The place is free again when the exchange has ended, whichever way.
 */
class Exchange extends TimedMember implements ExchangeHandler, BodySource, Waiter {
  readonly #options: SendOptions
  readonly #shared: Shared
  /** Both are released once the head is there: they hold the answer, with its headers. */
  #resolve: ((answer: UpstreamResponse) => void) | undefined
  #reject: ((error: unknown) => void) | undefined
  #queue: BodyQueue | undefined
  /** The request until it is sent: it is not kept for as long as the answer takes. */
  #unsent: OutgoingRequest | undefined
  #connection: Connection | undefined
  #timer: SharedTimer | undefined
  #paused = false

  constructor (options: SendOptions, shared: Shared, resolve: (answer: UpstreamResponse) => void, reject: (error: unknown) => void) {
    super()
    this.#options = options
    this.#shared = shared
    this.#resolve = resolve
    this.#reject = reject
    options.signal.addEventListener('abort', this, { once: true })
  }

  /** Ends with the call. */
  handleEvent (): void {
    this.#stop(this.#options.signal.reason)
  }

  /** Sends the request when there is a place, unless the signal aborts before. */
  start (request: OutgoingRequest): void {
    const { semaphore, maxWaitingMs } = this.#shared
    this.#unsent = request
    semaphore.acquire(this, this.#options.keyId ?? '')
    // Most have been sent by now.
    if (this.#unsent !== undefined && maxWaitingMs !== undefined) this.#startTimer(maxWaitingMs)
  }

  enter (): void {
    const request = this.#unsent
    this.#unsent = undefined
    if (request === undefined) return // called once
    const { timeouts, streamed } = this.#options
    this.#startTimer(streamed ? timeouts.firstByteMs : timeouts.responseMs)
    this.#send(request)
  }

  onUnsent (request: OutgoingRequest): void {
    if (this.#connection !== undefined) this.#shared.connections.release(this.#connection)
    this.#send(request)
  }

  /** Ends the wait that has taken too long: for a place, or for the provider. */
  onDue (): void {
    if (this.#unsent !== undefined) return this.refuse()
    this.#stop(new GatewayError('upstream_timeout', { mayBeBilled: this.#connection?.mayHaveSent === true }))
  }

  refuse (): void {
    this.#shared.refused++
    this.#stop(tooManyWaiting())
  }

  onHead (status: number, headers: ResponseHeaders): void {
    this.#stopTimer() // most answers are complete with the same read, and need no other
    const queue = new BodyQueue(this)
    this.#queue = queue
    this.#resolve?.({ status, headers, body: decompressed(queue, headers['content-encoding']) })
    this.#resolve = undefined
    this.#reject = undefined
  }

  allocate (sizeBytes: number, leftBytes?: number): Buffer {
    return this.#queue?.allocate(sizeBytes, leftBytes) ?? Buffer.allocUnsafe(sizeBytes)
  }

  onBytes (bytes: Buffer): void {
    this.#queue?.push(bytes)
  }

  onRead (): void {
    if (this.#queue === undefined) return // the time for the head runs on, whatever comes before it
    if (this.#timer !== undefined) this.#timer.start(this)
    else if (!this.#paused) this.#startTimer(this.#options.timeouts.idleBytesMs)
  }

  onEnd (): void {
    this.#unlisten()
    this.#release()
    this.#queue?.end()
  }

  onError (error: Error): void {
    const failure = this.#queue === undefined ? this.#failureBeforeHead(error) : new GatewayError('upstream_stream_interrupted', { cause: error })
    this.#release()
    this.#fail(failure)
  }

  #failureBeforeHead (error: Error): GatewayError {
    const { status = 0 } = this.#connection ?? {}
    if (error instanceof InvalidResponse) return new GatewayError('upstream_invalid_response', { cause: error, acceptedByProvider: status >= 200 && status <= 299 })
    return new GatewayError('upstream_unreachable', {
      cause: error, staleConnection: this.#connection?.isStale(error), mayBeBilled: this.#connection?.mayHaveWorked
    })
  }

  pause (): void {
    this.#paused = true
    this.#stopTimer()
    this.#connection?.pause()
  }

  resume (): void {
    this.#paused = false
    this.#startTimer(this.#options.timeouts.idleBytesMs)
    this.#connection?.resume()
  }

  cancel (): void {
    this.#stop(new GatewayError('upstream_stream_interrupted'))
  }

  #send (request: OutgoingRequest): void {
    this.#connection = this.#shared.connections.acquire()
    this.#connection.send(request, this)
  }

  /** Ends the exchange from our side, with its connection. */
  #stop (reason: unknown): void {
    if (this.#unsent !== undefined) this.#shared.semaphore.cancel(this, this.#options.keyId ?? '')
    this.#unsent = undefined
    this.#connection?.destroy()
    this.#release()
    this.#fail(reason)
  }

  #fail (error: unknown): void {
    this.#unlisten()
    this.#reject?.(error)
    this.#queue?.fail(error)
  }

  /** Gives connection and place back. */
  #release (): void {
    if (this.#connection === undefined) return
    this.#shared.connections.release(this.#connection)
    this.#connection = undefined
    this.#shared.semaphore.release()
  }

  #startTimer (ms: number): void {
    this.#stopTimer()
    this.#timer = sharedTimer(ms)
    this.#timer.start(this)
  }

  #stopTimer (): void {
    this.#timer?.stop(this)
    this.#timer = undefined
  }

  #unlisten (): void {
    this.#stopTimer()
    this.#options.signal.removeEventListener('abort', this)
  }
}
