/** The only writer of replies. */

import { explainRoute } from '../routing/explain-route.ts'
import { writeChunk } from './node-internals.ts'
import type { ServerResponse } from 'node:http'
import { TimedMember, sharedTimer, type SharedTimer } from '../async/shared-timer.ts'
import { pulling, type PullResult, type PullSource } from '../core/flow.ts'
import type { CallSignal } from '../core/call-signal.ts'
import type { Call, RecordAnswer } from '../core/call.ts'
import type { Reply } from '../core/reply.ts'

/**
 * Writes a reply. A complete body is sent with its length; an iterable with back-pressure, one
 * write per item. When the iterable throws or the caller leaves, the socket is destroyed: a truncated
 * answer never looks like a complete one.
 *
 * @param graceMs how long the last bytes may take to leave once the call's signal has aborted
 * @throws TypeError for headers that cannot be sent, or rejects with it: nothing is sent then, and `return()` of the body is called
 */
export function writeReply (response: ServerResponse, reply: Reply, call: Call, graceMs = 5000, beforeLastByte?: RecordAnswer): Promise<void> {
  const { body } = reply
  const { record, receivedAtMs } = call
  record.status = reply.status
  record.overheadMs = performance.now() - receivedAtMs - record.upstreamWaitMs
  return typeof body === 'string' || body instanceof Uint8Array
    ? writeComplete(response, body, reply, call, graceMs, beforeLastByte)
    : writeStream(response, body, reply, call, graceMs, beforeLastByte)
}

function writeComplete (
  response: ServerResponse, body: string | Uint8Array, reply: Reply, call: Call, graceMs: number, beforeLastByte?: RecordAnswer
): Promise<void> {
  response.writeHead(reply.status, { ...headersOf(reply, call), 'content-length': String(Buffer.byteLength(body)) })
  call.record.firstByteMs ??= performance.now() - call.receivedAtMs
  const end = (): Promise<void> => {
    if (response.destroyed) return Promise.resolve()
    response.end(body)
    return written(response, call.signal, graceMs)
  }
  const recorded = beforeLastByte?.(call)
  return recorded === undefined ? end() : recorded.then(end)
}

/** Returns the headers of an answer, with the id of the call and the time that the gateway itself took. */
function headersOf (reply: Reply, { id, record }: Call): Record<string, string> {
  const headers: Record<string, string> = {
    'x-request-id': id,
    'x-headgate-overhead-ms': (record.overheadMs ?? 0).toFixed(2)
  }
  if (record.modelId !== undefined) headers['x-headgate-model'] = printable(record.modelId)
  if (record.attempts > 0) headers['x-headgate-attempts'] = String(record.attempts)
  const route = explainRoute(record)
  if (route !== undefined) headers['x-headgate-route'] = route
  if (record.upstreamRequestId !== undefined) headers['x-upstream-request-id'] = printable(record.upstreamRequestId)
  return Object.assign(headers, reply.headers, record.limitHeaders)
}

/** Replaces what a header value cannot hold: a model name may have any character. */
function printable (text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 256)
}

function writeStream (
  response: ServerResponse, body: AsyncIterable<Piece>, reply: Reply, call: Call, graceMs: number, beforeLastByte?: RecordAnswer
): Promise<void> {
  return new Promise(resolve => { new StreamWriter(response, pulling(body), { call, graceMs, beforeLastByte }, resolve).start(reply) })
}

interface StreamWriterOptions {
  readonly call: Call
  readonly graceMs: number
  readonly beforeLastByte: RecordAnswer | undefined
}

/**
 * Writes the pieces of one stream. Not an `async` function: suspended, that takes 1.1 KB for as long as the stream waits, and what it
 * waits with is made anew for each piece, so that every scavenge has to copy it for all open streams.
 */
class StreamWriter extends TimedMember {
  readonly #response: ServerResponse
  readonly #pieces: PullSource<Piece>
  readonly #options: StreamWriterOptions
  readonly #settle: (end: Promise<void>) => void
  readonly #go = (): void => this.#run(undefined)
  #keepAlive: Reply['keepAlive']
  #silence: SharedTimer | undefined
  /** Sends the head once the first piece has taken longer than a turn. */
  #head: NodeJS.Immediate | undefined
  #isBegun = false

  constructor (response: ServerResponse, pieces: PullSource<Piece>, options: StreamWriterOptions, settle: (end: Promise<void>) => void) {
    super()
    this.#response = response
    this.#pieces = pieces
    this.#options = options
    this.#settle = settle
  }

  start (reply: Reply): void {
    const { keepAlive } = reply
    try {
      this.#response.writeHead(reply.status, headersOf(reply, this.#options.call))
    } catch (error) {
      return this.#settle(this.#break(error))
    }
    this.#keepAlive = keepAlive
    this.#silence = keepAlive && sharedTimer(keepAlive.everyMs)
    this.#silence?.start(this)
    this.#run(undefined)
  }

  /** Writes a sign of life when nothing else was written for a while. */
  onDue (): void {
    this.#silence?.start(this)
    if (this.#keepAlive === undefined || this.#response.writableNeedDrain) return
    const { text } = this.#keepAlive
    writeChunk(this.#response, typeof text === 'string' ? text : text())
  }

  /** Writes what is there, beginning with what was pulled already, if any; called again when there is more. */
  #run (pulled: PullResult<Piece> | undefined): void {
    try {
      let next: Next = pulled ?? this.#pull()
      // The head is sent with the first piece in one packet, unless that takes longer than a turn.
      if (!this.#isBegun && (next === undefined || next instanceof Promise)) this.#head ??= setImmediate(() => { this.#response.flushHeaders() })
      while (next !== undefined && !(next instanceof Promise)) next = this.#write(next)
      next?.then(there => this.#run(there), (error: unknown) => this.#settle(this.#break(error)))
    } catch (error) {
      this.#settle(this.#break(error))
    }
  }

  #pull (): Next {
    return this.#pieces.whenReady?.(this.#go) === true ? undefined : this.#pieces.pull()
  }

  /** Writes a piece, or ends. @returns the next one where it is pulled already; `undefined` to be called again, or not */
  #write (given: PullResult<Piece>): Next {
    const [response, pieces, { call }] = [this.#response, this.#pieces, this.#options]
    this.#head = clearImmediate(this.#head) as undefined
    if (given.done === true || response.destroyed) return this.#end([])
    const { value } = given
    call.record.firstByteMs ??= performance.now() - call.receivedAtMs
    if (haveEnded(pieces)) return this.#end([value])
    if (!mayReadAhead(response, value, pieces)) {
      if (this.#send(value) || !flushedMustWait(response)) return this.#pull()
      pieces.pause?.()
      void drained(response, call.signal).then(this.#go)
      return undefined
    }
    const ahead = this.#pullAhead()
    if (ahead !== undefined && !(ahead instanceof Promise) && ahead.done !== true && haveEnded(pieces)) return this.#end([value, ahead.value])
    if (this.#send(value) || ahead === undefined || ahead instanceof Promise || !flushedMustWait(response)) return ahead
    void drained(response, call.signal).then(() => this.#run(ahead))
    return undefined
  }

  /** Pulls; what is thrown is given as a promise, so that the piece before it is written before it. */
  #pullAhead (): Next {
    try {
      return this.#pull()
    } catch (error) {
      return Promise.reject(error) // as a source rejects with it
    }
  }

  /** Returns whether there is room for more. */
  #send (piece: Piece): boolean {
    const hasRoom = writeChunk(this.#response, piece)
    this.#isBegun = true
    this.#silence?.start(this)
    return hasRoom
  }

  #end (last: readonly Piece[]): undefined {
    this.#settle(this.#finish(last))
    return undefined
  }

  async #finish (last: readonly Piece[]): Promise<void> {
    const [response, { call, graceMs, beforeLastByte }] = [this.#response, this.#options]
    try {
      if (response.destroyed) await this.#pieces.return?.()
      const recorded = response.destroyed ? undefined : beforeLastByte?.(call)
      if (recorded !== undefined) await recorded
      if (!response.destroyed) {
        for (const piece of last) writeChunk(response, piece)
        response.end()
      }
    } catch (error) {
      return await this.#break(error)
    }
    this.#silence?.stop(this)
    await written(response, call.signal, graceMs)
  }

  async #break (error: unknown): Promise<never> {
    this.#silence?.stop(this)
    clearImmediate(this.#head)
    if (this.#response.headersSent) this.#response.destroy()
    await this.#pieces.return?.()
    throw error
  }
}

type Piece = string | Uint8Array
/** The next pull; `undefined` where a function is called when it is time for that. */
type Next = PullResult<Piece> | Promise<PullResult<Piece>> | undefined

/**
 * Gives the system what is written, and returns whether bytes still wait for the caller to read. `write` keeps them until the end of
 * the turn, and says that there is no room for more when they are many; mostly the system takes all of them.
 */
function flushedMustWait (response: ServerResponse): boolean {
  response.socket?.uncork()
  return response.writableLength > 0
}

/** Characters of a piece for which there is room in any case where nothing waits to be sent. */
const smallLength = 4096

/**
 * Returns whether to look for the next piece before this one is written: what is there already may be the last, and is one write
 * with it. Not for a caller who does not read, for whom nothing should be read ahead. Where nothing is left to be read, the next piece is there in any case.
 */
function mayReadAhead (response: ServerResponse, piece: string | Uint8Array, { isRead = false }: PullSource<unknown>): boolean {
  return (piece.length <= smallLength || isRead) && response.writableLength === 0
}

/** Returns whether what was pulled last is all. */
function haveEnded (pieces: PullSource<unknown>): boolean {
  return pieces.hasEnded === true
}

/**
 * Resolves when the last byte is sent or the connection is closed: until then the call is open, so
 * that it counts, has its deadline and is waited for. A caller who does not read the last bytes
 * within the grace period after a deadline loses the socket.
 */
function written (response: ServerResponse, signal: CallSignal, graceMs: number): Promise<void> {
  if (response.destroyed) return Promise.resolve()
  // The system has taken every byte: the close follows, whatever the signal does.
  return response.writableLength === 0 ? new Promise(resolve => { response.once('close', resolve) }) : writtenInTime(response, signal, graceMs)
}

async function writtenInTime (response: ServerResponse, signal: CallSignal, graceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const giveUp = (): void => { timer = setTimeout(() => response.destroy(), graceMs) }
  if (signal.aborted) giveUp()
  else signal.addEventListener('abort', giveUp, { once: true })
  await new Promise<void>(resolve => { response.once('close', resolve) })
  clearTimeout(timer)
  signal.removeEventListener('abort', giveUp)
}

/** Resolves when there is room again or the caller has left. An `AbortSignal` for this would cost more than a write. */
function drained (response: ServerResponse, signal: CallSignal): Promise<void> {
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
