/**
 * Captures the bodies of one call as references to received and sent bytes, without copies. It never waits,
 * and reads nothing that would not be read anyway.
 */

import { done } from '../pipeline/sources.ts'
import type { BodyCapture } from '../core/body-capture.ts'
import type { Reply } from '../core/reply.ts'
import type { Secret } from '../core/secret.ts'
import type { UploadForm } from '../core/upload.ts'
import type { Redaction } from './redaction.ts'

type Piece = string | Uint8Array

/** A body, or the part of it that is in memory. */
export interface NotedBody {
  /** Without parameters; absent if the caller gave none. */
  readonly mediaType: string | undefined
  /** False for media, which are never in memory. */
  readonly isText: boolean
  readonly pieces: readonly Piece[]
  /** The size of the whole body. */
  readonly sizeBytes: number
  /** True if part of the body is not in `pieces`. */
  readonly isCut: boolean
}

/** Memory shared by the bodies of many calls. */
export interface BodyMemory {
  /** @returns false if there is no room for so many more bytes */
  readonly take: (bytes: number) => boolean
  readonly release: (bytes: number) => void
}

export class BoundedMemory implements BodyMemory {
  readonly #maxBytes: () => number
  #bytes = 0

  constructor (maxBytes: () => number) {
    this.#maxBytes = maxBytes
  }

  take (bytes: number): boolean {
    if (this.#bytes + bytes > this.#maxBytes()) return false
    this.#bytes += bytes
    return true
  }

  release (bytes: number): void {
    this.#bytes -= bytes
  }
}

/** How the bodies of a call are printed. */
export interface CaptureRule {
  /** Of what is printed. */
  readonly maxBytes: number
  readonly redaction: Redaction
  /** Secrets of the gateway, to be redacted. */
  readonly secrets: readonly Secret[]
}

/**
 * Bytes in memory for each stored byte: events of one token take some hundred bytes each, and media are left
 * out.
 */
const bufferShare = 16
/** Maximum bytes of a body in memory. */
const maxBufferedBytes = 4 * 1024 * 1024
/** The memory of a capture itself. */
const overheadBytes = 1024

export class CallCapture<Rule extends CaptureRule = CaptureRule> implements BodyCapture {
  readonly rule: Rule
  readonly #maxBytes: number
  readonly #memory: BodyMemory
  #bufferedBytes = 0
  #request: GrowingBody | undefined
  #answer: GrowingBody | undefined
  #isDropped = false

  constructor (rule: Rule, memory: BodyMemory) {
    this.rule = rule
    this.#memory = memory
    this.#maxBytes = Math.min(rule.maxBytes * bufferShare, maxBufferedBytes)
    this.#isDropped = !memory.take(overheadBytes)
    if (!this.#isDropped) this.#bufferedBytes = overheadBytes
  }

  /** The request; `undefined` if there was none, or if it did not arrive completely. */
  get request (): NotedBody | undefined {
    return this.#request
  }

  get answer (): NotedBody | undefined {
    return this.#answer
  }

  /** True if there was no memory for the bodies. */
  get isDropped (): boolean {
    return this.#isDropped
  }

  takeRequest (pieces: readonly Uint8Array[]): void {
    const request = this.#newRequest('application/json')
    for (const piece of pieces) this.#note(request, piece)
  }

  takeForm ({ fields, files }: UploadForm): void {
    const listed = Object.entries(files).flatMap(([field, list]) =>
      list.map(({ name, mediaType, sizeBytes }) => ({
        field,
        name,
        media_type: mediaType,
        size_bytes: sizeBytes
      }))
    )
    const fileBytes = listed.reduce((sum, file) => sum + file.size_bytes, 0)
    const request = this.#newRequest('multipart/form-data')
    this.#note(request, JSON.stringify({ fields, files: listed }))
    request.sizeBytes += fileBytes
  }

  /** Starts a request in place of an earlier one, as guards replace it. */
  #newRequest (mediaType: string): GrowingBody {
    this.#releaseBytes(this.#request)
    return this.#request = new GrowingBody(mediaType, true)
  }

  #releaseBytes ({ bufferedBytes }: GrowingBody = noBody): void {
    this.#memory.release(bufferedBytes)
    this.#bufferedBytes -= bufferedBytes
  }

  watch (reply: Reply): Reply {
    const { body, headers } = reply
    const mediaType = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
    const answer = new GrowingBody(mediaType, mediaType === undefined || /^text\/|[/+]json$/.test(mediaType))
    this.#answer = answer
    if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
      return { ...reply, body: new WatchedPieces(body, piece => this.#note(answer, piece)) }
    }
    this.#note(answer, body)
    return reply
  }

  /** Discards the bodies; the call only remembers that there were some. */
  forget (): void {
    this.#releaseBytes(this.#request)
    this.#releaseBytes(this.#answer)
    this.#request = undefined
    this.#answer = undefined
  }

  /** Releases everything. */
  release (): void {
    this.#memory.release(this.#bufferedBytes)
    this.#bufferedBytes = 0
    this.#request = undefined
    this.#answer = undefined
  }

  #note (body: GrowingBody, piece: Piece): void {
    const bytes = Buffer.byteLength(piece)
    const room = this.#maxBytes - body.bufferedBytes
    body.sizeBytes += bytes
    if (this.#isDropped || body.isCut || !body.isText) return
    body.isCut = bytes > room
    if (room <= 0) return
    const part = bytes > room ? Buffer.from(piece).subarray(0, room) : piece
    const bufferedBytes = Math.min(bytes, room)
    if (!this.#memory.take(bufferedBytes)) {
      this.release()
      this.#isDropped = true
      return
    }
    this.#bufferedBytes += bufferedBytes
    body.bufferedBytes += bufferedBytes
    body.pieces.push(part)
  }
}

class GrowingBody implements NotedBody {
  readonly mediaType: string | undefined
  readonly isText: boolean
  readonly pieces: Piece[] = []
  sizeBytes = 0
  bufferedBytes = 0
  isCut = false

  constructor (mediaType: string | undefined, isText: boolean) {
    this.mediaType = mediaType
    this.isText = isText
  }
}

const noBody = new GrowingBody(undefined, false)

/** Passes on the pieces of a body, and calls back with each. */
class WatchedPieces implements AsyncIterableIterator<Piece> {
  readonly #pieces: AsyncIterator<Piece>
  readonly #onPiece: (piece: Piece) => void

  constructor (body: AsyncIterable<Piece>, onPiece: (piece: Piece) => void) {
    this.#pieces = body[Symbol.asyncIterator]()
    this.#onPiece = onPiece
  }

  async next (): Promise<IteratorResult<Piece, undefined>> {
    const given = await this.#pieces.next()
    if (given.done === true) return done
    this.#onPiece(given.value)
    return given
  }

  async return (): Promise<IteratorResult<Piece, undefined>> {
    await this.#pieces.return?.()
    return done
  }

  [Symbol.asyncIterator] (): this {
    return this
  }
}
