/** Writes replies to the socket. */

import { writeChunk } from './node-internals.ts'
import { replyHeaders, type AddHeaders } from './reply-headers.ts'
import type { ServerResponse } from 'node:http'
import { TimedMember, sharedTimer, type SharedTimer } from '../async/shared-timer.ts'
import type { Call, CallSignal } from '../core/call.ts'
import type { Reply } from '../core/reply.ts'

/** A longer body is written in pieces of this size: bytes, or characters of a text. */
const pieceLength = 64 * 1024

/** The response that a reply is written to, and its call. */
export interface ReplyTarget {
  readonly response: ServerResponse
  readonly call: Call
  /** Milliseconds for the last bytes after the call's signal has aborted. Default: 5000. */
  readonly graceMs?: number | undefined
  /** Adds headers to every reply. */
  readonly addHeaders?: AddHeaders | undefined
  /** Called with true when output waits for the caller to read, and with false when the caller reads on. */
  readonly onWait?: (waits: boolean) => void
}

/**
 * Writes a reply: a complete body with its length; an iterable with back-pressure and one write per item, or
 * several for an item of more than 64 KB. When the iterable throws or the caller leaves, the socket is
 * destroyed, so that a truncated reply never looks complete.
 *
 * Rejects with a TypeError for invalid headers: nothing is sent then, and `return()` of the body is called.
 * Also rejects with the error of the iterable, or of `journalAnswer`.
 */
export function writeReply (reply: Reply, target: ReplyTarget): Promise<void> {
  const { body } = reply
  const { record, receivedAtMs } = target.call
  record.end.status = reply.status
  record.times.overheadMs = performance.now() - receivedAtMs - record.times.upstreamWaitMs
  if (typeof body === 'string' || body instanceof Uint8Array) return writeComplete(body, reply, target)
  return new Promise(resolve => {
    new StreamWriter(body[Symbol.asyncIterator](), target, resolve).start(reply)
  })
}

async function writeComplete (body: Piece, reply: Reply, target: ReplyTarget): Promise<void> {
  const { response, call } = target
  await call.journalAnswer?.(call) // first, since the headers include the cost of the call
  if (response.destroyed) return
  response.writeHead(reply.status, {
    ...replyHeaders(reply, target),
    'content-length': String(Buffer.byteLength(body))
  })
  if (body.length > pieceLength) {
    await writeInPieces(body, piece => response.write(piece), target)
    if (response.destroyed) return
    response.end()
  } else response.end(body)
  await whenSent(target)
}

/**
 * Writes a long piece in short ones, each after the caller has accepted the one before. A single write
 * reports progress only when all of it was accepted, so a slow caller would look like one who has left. Once
 * the call has aborted, the rest is written without waiting.
 */
async function writeInPieces (
  body: Piece,
  write: (piece: Uint8Array) => boolean,
  { response, call: { signal }, onWait }: ReplyTarget
): Promise<void> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  for (let from = 0; from < bytes.length && !response.destroyed; from += pieceLength) {
    if (write(bytes.subarray(from, from + pieceLength)) || signal.aborted) continue
    onWait?.(true)
    await whenDrained(response, signal)
    onWait?.(false)
  }
}

/**
 * Writes the pieces of one stream. Not an `async` function: a suspended one holds 1.1 KB and allocates for
 * each piece, which every scavenge copies for all open streams.
 */
class StreamWriter extends TimedMember {
  readonly #pieces: AsyncIterator<Piece>
  readonly #target: ReplyTarget
  readonly #settle: (end: Promise<void>) => void
  #keepAlive: Reply['keepAlive']
  #keepAliveTimer: SharedTimer | undefined
  /**
   * Flushes the head alone if no piece arrives in this tick; otherwise both share a packet.
   */
  #head: NodeJS.Immediate | undefined

  constructor (
    pieces: AsyncIterator<Piece>,
    target: ReplyTarget,
    settle: (end: Promise<void>) => void
  ) {
    super()
    this.#pieces = pieces
    this.#target = target
    this.#settle = settle
  }

  start (reply: Reply): void {
    const { keepAlive } = reply
    const { response } = this.#target
    try {
      response.writeHead(reply.status, replyHeaders(reply, this.#target))
    } catch (error) {
      return this.#settle(this.#break(error))
    }
    this.#keepAlive = keepAlive
    this.#keepAliveTimer = keepAlive && sharedTimer(keepAlive.everyMs)
    this.#keepAliveTimer?.start(this)
    this.#head = setImmediate(() => { response.flushHeaders() })
    this.#read()
  }

  /** Writes a keep-alive after a while without output. */
  onDue (): void {
    const { response } = this.#target
    this.#keepAliveTimer?.start(this)
    if (this.#keepAlive === undefined || response.writableNeedDrain) return
    const { text } = this.#keepAlive
    writeChunk(response, typeof text === 'string' ? text : text())
  }

  readonly #read = (): void => {
    try {
      this.#pieces.next().then(this.#onPiece, this.#onFailure)
    } catch (error) {
      this.#onFailure(error) // hand-written iterators can throw synchronously
    }
  }

  readonly #onPiece = (given: IteratorResult<Piece>): void => {
    const { response, call, onWait } = this.#target
    this.#head = clearImmediate(this.#head) as undefined
    if (given.done === true || response.destroyed) return this.#settle(this.#finish())
    const { request, times } = call.record
    if (request.isStreamed === true) times.firstByteMs ??= performance.now() - call.receivedAtMs
    try {
      if (given.value.length > pieceLength) {
        void writeInPieces(given.value, this.#send, this.#target).then(this.#read, this.#onFailure)
      } else if (this.#send(given.value) || !flushAndCheckBacklog(response)) this.#read()
      else {
        onWait?.(true)
        void whenDrained(response, call.signal).then(() => {
          onWait?.(false)
          this.#read()
        })
      }
    } catch (error) {
      this.#onFailure(error)
    }
  }

  readonly #onFailure = (error: unknown): void => this.#settle(this.#break(error))

  /** Returns whether the buffer has room. */
  readonly #send = (piece: Piece): boolean => {
    const hasRoom = writeChunk(this.#target.response, piece)
    this.#keepAliveTimer?.start(this)
    return hasRoom
  }

  async #finish (): Promise<void> {
    const { response, call } = this.#target
    try {
      if (response.destroyed) await this.#pieces.return?.()
      // An event stream has waited before its last frame (`wire/sse-frames`); a stream of bytes waits here.
      if (!response.destroyed) await call.journalAnswer?.(call)
      if (!response.destroyed) response.end()
    } catch (error) {
      return await this.#break(error)
    }
    this.#keepAliveTimer?.stop(this)
    await whenSent(this.#target)
  }

  async #break (error: unknown): Promise<never> {
    this.#keepAliveTimer?.stop(this)
    clearImmediate(this.#head)
    const { response } = this.#target
    if (response.headersSent) {
      flushAndCheckBacklog(response) // data before the error goes out
      response.destroy()
    }
    await this.#pieces.return?.()
    throw error
  }
}

type Piece = string | Uint8Array

/**
 * Hands written bytes to the system, and returns whether some still wait for the caller to read. `write`
 * keeps them until the end of the tick, and reports a full buffer if there are many; usually the system
 * accepts all of them.
 */
function flushAndCheckBacklog (response: ServerResponse): boolean {
  response.socket?.uncork()
  return response.writableLength > 0
}

/**
 * Resolves when the last byte is sent or the connection is closed. Until then the call is open: it counts,
 * has its deadline, and is waited for. A caller who does not read the last bytes within the grace period
 * after a deadline loses the connection.
 */
function whenSent (target: ReplyTarget): Promise<void> {
  const { response } = target
  if (response.destroyed) return Promise.resolve()
  // The system has accepted every byte: the close follows, even if the call is aborted.
  return response.writableLength === 0
    ? new Promise(resolve => {
        response.once('close', resolve)
      })
    : sentWithinGrace(target)
}

async function sentWithinGrace (
  { response, call: { signal }, graceMs = 5000, onWait }: ReplyTarget
): Promise<void> {
  onWait?.(true)
  let timer: NodeJS.Timeout | undefined
  const giveUp = (): void => { timer = setTimeout(() => response.destroy(), graceMs) }
  if (signal.aborted) giveUp()
  else signal.addEventListener('abort', giveUp, { once: true })
  await new Promise<void>(resolve => { response.once('close', resolve) })
  clearTimeout(timer)
  signal.removeEventListener('abort', giveUp)
}

/**
 * Resolves when there is room again or the caller has left. An `AbortSignal` for this would cost more than a
 * write.
 */
function whenDrained (response: ServerResponse, signal: CallSignal): Promise<void> {
  return new Promise(resolve => {
    const go = (): void => {
      response.off('drain', go).off('close', go)
      signal.removeEventListener('abort', go)
      resolve()
    }
    if (signal.aborted || response.destroyed) return resolve()
    response.on('drain', go).on('close', go)
    signal.addEventListener('abort', go, { once: true })
  })
}
