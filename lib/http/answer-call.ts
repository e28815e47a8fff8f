/** Answers one request: turns it into a call, runs its endpoint and writes the reply. */

import { GatewayError, asGatewayError } from '../core/errors.ts'
import { noteError } from '../core/record.ts'
import { chatCompletionsErrors } from '../dialects/chat-completions/errors.ts'
import { RingMember } from '../async/ring.ts'
import type { OpenCall, OpenCalls } from './open-calls.ts'
import { beginCall, type BegunCall, type RequestBounds } from './begin-call.ts'
import { writeReply } from './write-reply.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import type { Call, JournalAnswer } from '../core/call.ts'
import type { CallTrace } from '../core/call-trace.ts'
import type { Endpoint } from '../core/endpoint.ts'
import type { Reply } from '../core/reply.ts'
import type { Admission, EvictableCall } from './admission.ts'
import type { AddHeaders } from './reply-headers.ts'

/** Maximum length of method and path in the log. A query may hold secrets and is left out. */
const maxLoggedTarget = 200

/** Milliseconds for a caller to finish sending a body that was not read. */
const discardMs = 2000

export interface CallBounds extends RequestBounds {
  /** Maximum duration of a call. */
  readonly callMs: number
}

export interface AnswerOptions {
  /** Returns the reply for an error before the head is sent. Default: in the form of chat completions. */
  readonly errorReply?: (failure: GatewayError, call: Call, path: string) => Reply
  /** `isClosed` is true during shutdown, to disable keep-alive. */
  readonly stop: { readonly isClosed: boolean }
  /**
   * Milliseconds after which a call ends if its caller accepts nothing of a pending reply. Default: 300,000.
   */
  readonly writeTimeoutMs?: number
  /** Begins the trace of a call from its request headers. Default: calls have none. */
  readonly beginTrace?: ((headers: Call['headers']) => CallTrace) | undefined
  /** Adds headers to every reply. Default: none. */
  readonly addHeaders?: AddHeaders | undefined
  readonly journalAnswer?: JournalAnswer
  /** Called with the error when uploaded files of a call could not be deleted. */
  readonly onUploadDeleteFailed?: (error: unknown) => void
  /** Called after each call, once its reply is written or cut off and its record is complete. */
  readonly onEnd: (call: Call) => void
}

/**
 * Answers a request and resolves once its call has ended. Never rejects: an error before the head becomes
 * a reply; a later one is the last message of an event stream, or cuts the connection.
 *
 * @param target the endpoint, or why none serves the request
 */
export type AnswerHandler = (
  context: Context,
  target: Endpoint | GatewayError,
  params?: Record<string, string>
) => Promise<void>

export interface AnswerDeps {
  readonly options: AnswerOptions
  /** Returns the bounds of calls that begin now. */
  readonly bounds: () => CallBounds
  readonly admission: Admission
  readonly open: OpenCalls
}

/**
 * Returns the function that answers requests. It bypasses the writer of Koa (`ctx.respond = false`):
 * handing Koa a stream costs half as much again per event, and Koa would truncate a failing stream silently.
 */
export function answerCalls (deps: AnswerDeps): AnswerHandler {
  return async (context, target, params = {}) => {
    context.respond = false
    try {
      await new CallInFlight(deps, context, target, params).run()
    } catch {
      context.res.destroy()
    }
  }
}

/** A call from its request to the end of its response. */
class CallInFlight extends RingMember implements OpenCall, EvictableCall {
  readonly abort: (reason: GatewayError) => void
  deadlineMs: number
  readonly #call: Call
  readonly #begun: BegunCall
  readonly #deps: AnswerDeps
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #target: Endpoint | GatewayError

  constructor (
    deps: AnswerDeps,
    context: Context,
    target: Endpoint | GatewayError,
    params: Record<string, string>
  ) {
    super()
    const { admission, open, options: { beginTrace, journalAnswer } } = deps
    const bounds = deps.bounds()
    const begun = beginCall(context, {
      params,
      endpoint: target instanceof GatewayError ? undefined : target,
      bounds,
      admission,
      beginTrace,
      journalAnswer,
      shortenDeadline: ms => open.setEarlierDeadline(this, begun.call.receivedAtMs + ms)
    })
    this.abort = begun.abort
    this.deadlineMs = begun.call.receivedAtMs + bounds.callMs
    this.#call = begun.call
    this.#begun = begun
    this.#deps = deps
    this.#request = context.req
    this.#response = context.res
    this.#target = target
  }

  get keyId (): string {
    return this.#call.record.caller.keyId ?? ''
  }

  get heldBytes (): number {
    return this.#begun.admitted()?.memory.bytes ?? 0
  }

  endAsTooSlow (): void {
    this.abort(new GatewayError('client_too_slow'))
    this.#response.destroy()
    this.#begun.admitted()?.memory.close()
  }

  async run (): Promise<void> {
    const { open, options } = this.#deps
    open.add(this)
    this.#response.setTimeout(options.writeTimeoutMs ?? 300_000, () => this.#onSocketTimeout())
    if (options.stop.isClosed) this.#response.setHeader('connection', 'close')
    try {
      if (this.#target instanceof GatewayError) throw this.#target
      await this.#write(await this.#target.handle(this.#call))
    } catch (error) {
      await this.#fail(error)
    }
    if (!this.#request.complete) discardBody(this.#request)
    const { end: { whenUsageKnown } } = this.#call.record
    if (whenUsageKnown !== undefined) await whenUsageKnown
    this.#end()
  }

  /** Called when the connection has delivered and accepted nothing for a while. */
  #onSocketTimeout (): void {
    if (this.#response.writableLength > 0) this.endAsTooSlow() // otherwise the provider is slow
  }

  async #write (reply: Reply): Promise<void> {
    const watched = this.#call.record.bodies?.watch(reply) ?? reply
    const { admission, bounds, options: { addHeaders } } = this.#deps
    const { restoreForCaller } = watched
    await writeReply(restoreForCaller === undefined ? watched : await restoreForCaller(watched), {
      response: this.#response,
      call: this.#call,
      graceMs: bounds().graceMs,
      addHeaders,
      onWait: waits => {
        this.#call.record.times.unreadSinceMs = waits ? performance.now() : undefined
        admission.stalled.set(this, waits)
      }
    })
  }

  /** Sends an error; after the head it ends the connection. */
  async #fail (error: unknown): Promise<void> {
    const { errorReply = chatCompletionsErrors } = this.#deps.options
    const failure = asGatewayError(error)
    const { record } = this.#call
    this.abort(failure) // releases the resources of the pipeline
    noteError(record.end, failure)
    record.end.status ??= failure.status
    try {
      if (this.#response.headersSent || this.#response.destroyed) this.#response.destroy()
      else await this.#write(errorReply(failure, this.#call, pathOf(this.#request)))
    } catch {
      this.#response.destroy()
    }
  }

  #end (): void {
    const { admission, open, options } = this.#deps
    const { record, signal } = this.#call
    open.delete(this)
    admission.stalled.set(this, false)
    this.#begun.close(options.onUploadDeleteFailed)
    record.end.outcome ??= signal.aborted ? noteError(record.end, signal.reason) : 'ok'
    // Even if the head said 200: the caller did not read the reply to its end.
    const { end } = record
    if (end.outcome === 'client_closed' || end.outcome === 'client_too_slow') end.status = 499
    if (this.#target instanceof GatewayError || this.#target.isAlias === true) {
      record.request.requestLine = targetOf(this.#request)
    }
    options.onEnd(this.#call)
  }
}

/** Returns method and path, for the log. */
function targetOf (request: IncomingMessage): string {
  return `${request.method ?? ''} ${pathOf(request)}`.slice(0, maxLoggedTarget)
}

/** Returns the path as the caller wrote it, without the query. */
function pathOf ({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? url
}

/**
 * Discards the rest of a body for a moment, then closes the connection: a caller who is still sending must be
 * able to read the reply.
 */
function discardBody (request: IncomingMessage): void {
  // Not the response's `close`, which is emitted as soon as the reply is written.
  const timer = setTimeout(() => request.destroy(), discardMs)
  request.once('close', () => clearTimeout(timer))
  request.resume()
}
