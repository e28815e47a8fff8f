/**
 * One request, from the queue to the end of its response. undici's callbacks resolve the promise of the head,
 * then feed the body queue. One timer covers the current wait: for a connection, for the head, or for the
 * next piece.
 */

import { BodyQueue, type BodySource, decompressed } from './body-queue.ts'
import { failureBeforeHead, isUnsendable, tooManyInterimResponses, unknownStatus } from './failures.ts'
import { GatewayError } from '../core/errors.ts'
import { TimedMember, sharedTimer, type SharedTimer } from '../async/shared-timer.ts'
import type { Dispatcher } from 'undici'
import type { Semaphore, Waiter } from '../async/semaphore.ts'
import type { SendOptions, UpstreamHead, UpstreamResponse } from '../providers/provider.ts'

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array> | null
}

/** undici's request callbacks, plus one that undici lacks. */
export interface RequestHandler extends Dispatcher.DispatchHandler {
  /** Called when the server has ended the connection of this request, after all its bytes. */
  readonly onConnectionEnd?: () => void
}

/** An exclusive connection, or a share of one. It ends with `release` or `cancel`. */
export interface Connection {
  /** True if it was idle and is still open: an error before a request is written then concerns no request. */
  readonly wasIdle: boolean
  /** True if undici keeps an aborted request with its body until it has a connection. */
  readonly keepsUnsent: boolean
  readonly send: (request: OutgoingRequest, handler: RequestHandler) => void
  /** Gives the connection back after a complete response. */
  readonly release: () => void
  /**
   * Aborts the request, and closes the connection if it is exclusive.
   *
   * @param controller of the request, once it has started
   */
  readonly cancel: (controller: Dispatcher.DispatchController | undefined) => void
  /** Accepts no more requests, because one on this shared connection timed out. */
  readonly retire?: () => void
}

/** Connections to one provider: one request each (`clients`) or shared (`shared-pool`). */
export interface Connections {
  /** Number of connections open or opening. */
  readonly open: number
  readonly acquire: () => Connection
  /** Closes all connections. Call it when no request is in flight. */
  readonly close: () => void
}

/** Shared by the requests to one provider. */
export interface ExchangeContext {
  readonly connections: Connections
  readonly semaphore: Semaphore
  readonly maxWaitingMs: number | undefined
  refused: number
}

type Controller = Dispatcher.DispatchController

const maxInterimResponses = 100

export class Exchange extends TimedMember implements RequestHandler, BodySource, Waiter {
  readonly #options: SendOptions
  readonly #context: ExchangeContext
  /** Both are dropped with the head: they hold the response and its headers. */
  #resolve: ((response: UpstreamResponse) => void) | undefined
  #reject: ((error: unknown) => void) | undefined
  #queue: BodyQueue | undefined
  /** The request until it is written; dropped then, because the response may take long. */
  #unsent: OutgoingRequest | undefined
  #connection: Connection | undefined
  /** Set once the request is written. */
  #controller: Controller | undefined
  #writtenAtMs = 0
  #hasResponseBegun = false
  #interimResponses = 0
  /** Remaining bytes of the body, if its length is known. */
  #leftBytes: number | undefined
  /**
   * `over`: complete, or failed. `leaving`: failed, but undici still has the request, which occupies a slot
   * until undici drops it and the exchange is `over`.
   */
  #state: 'open' | 'leaving' | 'over' = 'open'
  #timer: SharedTimer | undefined

  constructor (
    options: SendOptions,
    context: ExchangeContext,
    resolve: (response: UpstreamResponse) => void,
    reject: (error: unknown) => void
  ) {
    super()
    this.#options = options
    this.#context = context
    this.#resolve = resolve
    this.#reject = reject
    options.signal.addEventListener('abort', this, { once: true })
  }

  /** Called when the call aborts. */
  handleEvent (): void {
    this.#fail(this.#options.signal.reason)
  }

  /** Sends the request once a connection is free, unless the signal aborts first. */
  start (request: OutgoingRequest): void {
    const { semaphore, maxWaitingMs } = this.#context
    this.#unsent = request
    semaphore.acquire(this, this.#options.keyId ?? '')
    const isWaiting = this.#connection === undefined && this.#state === 'open'
    if (isWaiting && maxWaitingMs !== undefined) this.#startTimer(maxWaitingMs)
  }

  /** Called by the semaphore: a connection is free. */
  enter (): void {
    const { timeouts, streamed } = this.#options
    this.#startTimer(streamed ? timeouts.firstByteMs : timeouts.responseMs)
    this.#send()
  }

  /** Called by the semaphore if too many requests wait, and after too long a wait. */
  refuse (): void {
    this.#context.refused++
    // Another model may answer instead. The provider is not at fault, and a retry would wait in the same
    // queue.
    this.#fail(new GatewayError('overloaded', {
      message: 'Too many calls are waiting for this provider. Try again later.',
      fault: 'model'
    }))
  }

  /** Handles a timeout: of waiting for a connection, or for the provider. */
  onDue (): void {
    if (this.#connection === undefined) return this.refuse()
    this.#connection.retire?.()
    this.#fail(new GatewayError('upstream_timeout', { mayBeBilled: this.#controller !== undefined }))
  }

  onRequestStart (controller: Controller): void {
    // If an HTTP/2 connection breaks, undici may resend a request that the server has already processed.
    if (this.#state !== 'open' || this.#controller !== undefined) {
      return controller.abort(new Error('the request was already sent, or its call has ended'))
    }
    this.#controller = controller
    this.#unsent = undefined
    this.#writtenAtMs = performance.now()
    this.#options.onSent?.()
  }

  onResponseStarted (): void {
    this.#hasResponseBegun = true
  }

  onResponseStart (controller: Controller, status: number, headers: UpstreamHead['headers']): void {
    if (status < 100) return controller.abort(unknownStatus(status))
    if (status < 200) {
      if (++this.#interimResponses > maxInterimResponses) controller.abort(tooManyInterimResponses())
      return // the head timeout continues
    }
    // raw headers would keep their read buffer alive for the duration of the response
    controller.rawHeaders = null
    const length = headers['content-length']
    if (length !== undefined) this.#leftBytes = Number(length)
    const queue = new BodyQueue(this)
    this.#queue = queue
    const encoding = headers['content-encoding']
    const body = encoding === undefined ? queue : decompressed(queue, encoding)
    this.#startTimer(this.#options.timeouts.idleBytesMs)
    this.#resolve?.({ status, headers, body })
    this.#resolve = undefined
    this.#reject = undefined
  }

  onResponseData (_controller: Controller, bytes: Buffer): void {
    if (this.#state !== 'open') return
    this.#timer?.start(this)
    if (this.#leftBytes !== undefined) this.#leftBytes -= bytes.length
    this.#queue?.push(bytes)
  }

  onResponseEnd (controller: Controller): void {
    if (this.#state !== 'open') return
    const truncation = this.#leftBytes === 0 ? undefined : this.#truncation(controller)
    if (truncation !== undefined) {
      return this.#fail(new GatewayError('upstream_stream_interrupted', { cause: truncation }))
    }
    this.#finish()
    this.#connection?.release()
    this.#context.semaphore.release()
    this.#queue?.end()
  }

  onResponseError (_controller: Controller, error: Error): void {
    if (this.#state !== 'open') return this.#freeSlot()
    if (this.#unsent !== undefined && this.#connection?.wasIdle === true) {
      if (isUnsendable(error)) return this.#failUnsent(this.#connection, error)
      this.#connection.cancel(undefined)
      return this.#send() // an error of an idle connection does not affect another one
    }
    this.#fail(
      this.#queue === undefined
        ? this.#failureBeforeHead(error)
        : new GatewayError('upstream_stream_interrupted', { cause: error })
    )
    this.#freeSlot()
  }

  onConnectionEnd (): void {
    this.#controller?.resume()
  }

  /** Called by the queue: the reader of the body is behind. */
  pause (): void {
    this.#stopTimer()
    this.#controller?.pause()
  }

  /** Called by the queue: the reader has caught up. */
  resume (): void {
    this.#startTimer(this.#options.timeouts.idleBytesMs)
    this.#controller?.resume()
  }

  /** Called by the queue: its reader wants no more. */
  cancel (): void {
    this.#fail(new GatewayError('upstream_stream_interrupted'))
  }

  #send (): void {
    if (this.#unsent === undefined) return // it failed while it waited for a connection
    this.#connection = this.#context.connections.acquire()
    this.#connection.send(this.#unsent, this)
  }

  /** Fails without affecting the connection, which received none of the request. */
  #failUnsent (connection: Connection, error: Error): void {
    const failure = this.#failureBeforeHead(error)
    this.#finish()
    connection.release()
    this.#context.semaphore.release()
    this.#reject?.(failure)
  }

  #failureBeforeHead (error: Error): GatewayError {
    return failureBeforeHead(error, {
      wasIdle: this.#connection?.wasIdle === true,
      hasResponseBegun: this.#hasResponseBegun,
      sentMs: this.#controller === undefined ? undefined : performance.now() - this.#writtenAtMs
    })
  }

  /** Ends an open exchange with an error; its connection is not reused. */
  #fail (reason: unknown): void {
    if (this.#state !== 'open') return
    const isKept = this.#connection?.keepsUnsent === true && this.#controller === undefined
    this.#finish(isKept ? 'leaving' : 'over')
    if (this.#connection === undefined) this.#context.semaphore.cancel(this, this.#options.keyId ?? '')
    else {
      this.#connection.cancel(this.#controller)
      if (!isKept) this.#context.semaphore.release()
    }
    this.#reject?.(reason)
    this.#queue?.fail(reason)
  }

  /** Frees the slot of a failed exchange once undici has dropped the request. */
  #freeSlot (): void {
    if (this.#state !== 'leaving') return
    this.#state = 'over'
    this.#context.semaphore.release()
  }

  /**
   * Returns why a response is truncated; `undefined` for a complete one. undici reports truncated HTTP/2
   * responses as complete.
   */
  #truncation ({ paused, rawTrailers }: Controller): string | undefined {
    if (this.#leftBytes !== undefined) return 'the body is not as long as its header says'
    if (paused && Object.keys(rawTrailers ?? {}).length > 0) return 'trailers came before the body was read'
    return undefined
  }

  /** Nothing is sent, awaited or aborted any more. */
  #finish (state: 'leaving' | 'over' = 'over'): void {
    this.#state = state
    this.#unsent = undefined
    this.#stopTimer()
    this.#options.signal.removeEventListener('abort', this)
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
}
