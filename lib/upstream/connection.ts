/**
 * A connection to a provider, over HTTP/1.1: one request at a time and its response as it arrives.
 */

import { ResponseParser, type ResponseHandler, type ResponseHeaders } from './response-parser.ts'
import { writeInNextTurn, type Writer } from './write-in-next-turn.ts'
import type { Socket } from 'node:net'
import { connectedEvent, type Connect } from './connector.ts'
import type { PrintedHeaders } from './request-headers.ts'

export interface OutgoingRequest {
  readonly method: string
  readonly path: string
  /** With `host`. */
  readonly headers: PrintedHeaders
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | undefined
}

/** Receives a response. After `onEnd`, `onError` or `onUnsent`, of which one is called, no other function is. */
export interface ExchangeHandler extends ResponseHandler {
  /** Called when a connection that had been idle turns out to be of no use before the request is written: another one can take it. */
  readonly onUnsent: (request: OutgoingRequest) => void
  /** Called after each read that did not end the response. */
  readonly onRead: () => void
  readonly onError: (error: Error) => void
}

/** The server may close a connection a moment before it said it would. */
const keepAliveMarginMs = 2000
const defaultKeepAliveMs = 30_000
/** Less is with the system at once. Over TLS what was sent counts as unsent until the next turn of the event loop. */
const maxUnsentBytes = 64 * 1024
/** A server that has closed an idle connection refuses what comes over it within a round trip. One that takes longer has worked on it. */
const staleWithinMs = 1000

export class Connection implements ResponseHandler, Writer {
  readonly #socket: Socket
  readonly #parser = new ResponseParser(this)

  /** Unset as soon as its exchange has ended: what belongs to a call must not be kept by a connection. */
  #handler: ExchangeHandler | undefined
  /** The request until it is written. */
  #unwritten: OutgoingRequest | undefined
  /** The place among the connections that are free; -1 while an exchange has it. */
  place = -1
  /** True while a body is being written. */
  #writing = false
  #isConnected = false
  /** True when something has come since the last request was written. */
  #hasRead = false
  #writtenAtMs = 0
  #idleUntilMs = Infinity

  /** @param onClose called once, when it can take no further request */
  constructor (connect: Connect, onClose: () => void) {
    this.#socket = connect(bytes => this.#read(bytes))
      .on('error', error => this.#fail(error))
      .on('end', () => this.#end())
      .on('close', () => {
        this.#fail(closedByServer())
        onClose()
      })
    this.#socket.once(connectedEvent(this.#socket), () => { this.#isConnected = true })
  }

  /** True when the server may have got the request. */
  get mayHaveSent (): boolean {
    return this.#isConnected && this.#unwritten === undefined
  }

  /** The status of a response that has begun, where its head could be read so far. */
  get status (): number | undefined {
    return this.#parser.status
  }

  /**
   * True for an error by which a server that had closed the idle connection refuses a request, so that another connection will do.
   * One that breaks later, or when something has come, may have broken while the server worked on the request.
   */
  isStale (error: Error): boolean {
    const { code }: NodeJS.ErrnoException = error
    const isClosed = code === 'ECONNRESET' || code === 'EPIPE'
    return isClosed && this.#wasIdle && !this.#hasRead && performance.now() - this.#writtenAtMs < staleWithinMs
  }

  /** True when the server has had the request for so long that it may have worked on it. */
  get mayHaveWorked (): boolean {
    return this.mayHaveSent && performance.now() - this.#writtenAtMs >= staleWithinMs
  }

  /** True when it can take a request now. */
  isUsable (nowMs: number): boolean {
    return !this.#socket.destroyed && this.#handler === undefined && nowMs < this.#idleUntilMs
  }

  /** Sends a request. Not before the last one has ended. */
  send (request: OutgoingRequest, handler: ExchangeHandler): void {
    const socket = this.#socket
    this.#handler = handler
    if (socket.destroyed) return process.nextTick(() => this.#fail(closedByServer()))
    socket.ref()
    this.#unwritten = request
    writeInNextTurn(this)
  }

  /** Writes the request, unless its exchange is over. */
  write (): void {
    const request = this.#unwritten
    this.#unwritten = undefined
    if (request === undefined || this.#handler === undefined) return
    this.#parser.begin() // not before: what comes until now is no answer to it
    this.#hasRead = false
    this.#writtenAtMs = performance.now()
    const { body } = request
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) writeComplete(this.#socket, request, body)
    else void this.#writePieces(request, body)
  }

  pause (): void {
    this.#socket.pause()
  }

  resume (): void {
    this.#socket.resume()
  }

  /** Closes the connection; the handler is not called any more. */
  destroy (): void {
    this.#handler = undefined
    this.#socket.destroy()
  }

  onHead (status: number, headers: ResponseHeaders): void {
    this.#handler?.onHead(status, headers)
  }

  allocate (sizeBytes: number, leftBytes?: number): Buffer {
    return this.#handler?.allocate(sizeBytes, leftBytes) ?? Buffer.allocUnsafe(sizeBytes)
  }

  onBytes (bytes: Buffer): void {
    this.#handler?.onBytes(bytes)
  }

  onEnd (): void {
    const handler = this.#handler
    this.#handler = undefined
    // A server that answers before it has read the request would read the next one after the rest of it.
    if (this.#writing || this.#socket.writableLength > maxUnsentBytes || !this.#parser.mayReuse) this.#socket.destroy()
    const { keepAliveMs } = this.#parser
    this.#idleUntilMs = performance.now() + (keepAliveMs === undefined ? defaultKeepAliveMs : keepAliveMs - keepAliveMarginMs)
    if (this.#socket.isPaused()) this.#socket.resume() // by the last bytes; it must see the server close it
    this.#socket.unref()
    handler?.onEnd()
  }

  #read (bytes: Buffer): void {
    this.#hasRead = true
    try {
      this.#parser.push(bytes)
      this.#handler?.onRead()
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error('a response could not be read', { cause: error }))
    }
  }

  #end (): void {
    if (this.#handler !== undefined && (this.#unwritten !== undefined || !this.#parser.end())) this.#fail(closedByServer())
    this.#socket.destroy()
  }

  #fail (error: Error): void {
    const [handler, unwritten] = [this.#handler, this.#unwritten]
    this.#handler = undefined
    this.#unwritten = undefined
    this.#socket.destroy()
    if (unwritten !== undefined && this.#wasIdle) handler?.onUnsent(unwritten)
    else handler?.onError(error)
  }

  /** False for a new one: what fails it would fail the next one as well. */
  get #wasIdle (): boolean {
    return this.#idleUntilMs !== Infinity
  }

  /** Writes a body piece by piece, as fast as the server takes it; the head goes out with the first. */
  async #writePieces (request: OutgoingRequest, body: AsyncIterable<Uint8Array>): Promise<void> {
    const socket = this.#socket
    const handler = this.#handler
    const { contentLength: declared } = request.headers
    const isChunked = declared === undefined
    let head = headOf(request, isChunked ? 'transfer-encoding: chunked\r\n' : '')
    let sizeBytes = 0
    this.#writing = true
    try {
      for await (const piece of body) {
        if (this.#handler !== handler || socket.destroyed) return
        if (piece.length === 0) continue
        sizeBytes += piece.length
        if (isChunked) head += `${piece.length.toString(16)}\r\n`
        socket.cork()
        if (head !== '') socket.write(head, 'latin1')
        head = ''
        let hasRoom = socket.write(piece)
        if (isChunked) hasRoom = socket.write('\r\n', 'latin1')
        socket.uncork()
        if (!hasRoom) await drained(socket)
      }
      if (this.#handler !== handler) return
      if (!isChunked && sizeBytes !== Number(declared)) throw new Error('the body is not as long as its header says')
      const last = isChunked ? `${head}0\r\n\r\n` : head
      if (last !== '') socket.write(last, 'latin1')
      this.#writing = false
    } catch (error) {
      if (this.#handler === handler) this.#fail(error instanceof Error ? error : new Error('the body could not be read', { cause: error }))
    }
  }
}

/** Writes head and body together: text of one byte a character as one string, for which no second buffer is needed. */
function writeComplete (socket: Socket, request: OutgoingRequest, body: string | Uint8Array | undefined): void {
  const sizeBytes = body === undefined ? 0 : Buffer.byteLength(body)
  const needsLength = request.headers.contentLength === undefined && (sizeBytes > 0 || request.method === 'POST')
  const head = headOf(request, needsLength ? `content-length: ${sizeBytes}\r\n` : '')
  if (body === undefined || (typeof body === 'string' && body.length === sizeBytes)) {
    socket.write(head + (body ?? ''), 'latin1')
    return
  }
  socket.cork()
  socket.write(head, 'latin1')
  socket.write(body)
  socket.uncork()
}

/** @param more further lines */
function headOf ({ method, path, headers }: OutgoingRequest, more: string): string {
  return `${method} ${path} HTTP/1.1\r\n${headers.lines}connection: keep-alive\r\n${more}\r\n`
}

/** Resolves when there is room again, or there never will be. */
async function drained (socket: Socket): Promise<void> {
  if (socket.destroyed) return
  await new Promise<void>(resolve => {
    const go = (): void => {
      socket.off('drain', go).off('close', go)
      resolve()
    }
    socket.on('drain', go).on('close', go)
  })
}

/** Returns an error like that of a connection which the other side has reset. */
function closedByServer (): Error {
  return Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET' })
}
