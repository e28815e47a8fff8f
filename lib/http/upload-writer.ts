/**
 * Keeps a file of a form while its call is in flight: in memory while there is plenty of it, what comes after that on disk.
 *
 * A byte that is written to disk and read again costs the process 1.8 ms of CPU time per megabyte, three times as much as
 * everything else that happens to it.
 */

import { createReadStream, createWriteStream, type WriteStream } from 'node:fs'
import { Writable } from 'node:stream'
import { asGatewayError } from '../core/errors.ts'
import { blockBytes, uploadBlocks, type UploadBlocks } from './upload-blocks.ts'
import type { Reservation } from './admission.ts'

/** Memory of a piece beside its bytes. */
const pieceBytes = 256
/**
 * A file of more bytes is copied into blocks, its beginning included: as it came, half a megabyte of each recording would end in old space, and
 * cost a full collection for every 40 of them.
 */
const bytesWithoutBlocks = 512 * 1024
/** Enough to recognise a file format. */
const headBytes = 4100

export interface UploadSpace {
  readonly memory: Reservation
  readonly disk: Reservation
  /** Returns the path of a file that does not exist yet. */
  readonly newPath: () => Promise<string>
}

type Done = (error?: Error | null) => void

export class UploadWriter extends Writable {
  readonly #space: UploadSpace
  readonly #pool: UploadBlocks
  /** The beginning of the file, or all of it: pieces as they came, or blocks. */
  readonly #inMemory: Buffer[] = []
  #bytesInMemory = 0
  /** The last one is filled up to `#filled`. */
  readonly #blocks: Buffer[] = []
  #filled = blockBytes
  #readers = 0
  #leftByReader = false
  #onDisk: { readonly path: string, readonly file: WriteStream } | undefined

  constructor (space: UploadSpace, pool = uploadBlocks) {
    super()
    this.#space = space
    this.#pool = pool
  }

  override _write (bytes: Buffer, _encoding: BufferEncoding, done: Done): void {
    const { memory } = this.#space
    if (this.#onDisk === undefined && memory.isCheap(bytes.length + pieceBytes)) {
      memory.take(bytes.length + pieceBytes)
      this.#keep(bytes)
      return done()
    }
    this.#writeToDisk(bytes, done).catch((error: unknown) => done(asGatewayError(error)))
  }

  #keep (bytes: Buffer): void {
    this.#bytesInMemory += bytes.length
    if (this.#blocks.length === 0) {
      if (this.#bytesInMemory <= bytesWithoutBlocks) {
        this.#inMemory.push(bytes)
        return
      }
      for (const piece of this.#inMemory.splice(0)) this.#copy(piece)
    }
    this.#copy(bytes)
  }

  #copy (bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      const block = this.#blockWithRoom()
      const copied = bytes.copy(block, this.#filled, at)
      this.#filled += copied
      at += copied
      this.#inMemory[this.#inMemory.length - 1] = block.subarray(0, this.#filled)
    }
  }

  #blockWithRoom (): Buffer {
    const last = this.#blocks.at(-1)
    if (last !== undefined && this.#filled < blockBytes) return last
    const block = this.#pool.take()
    this.#blocks.push(block)
    this.#inMemory.push(block)
    this.#filled = 0
    return block
  }

  async #writeToDisk (bytes: Buffer, done: Done): Promise<void> {
    this.#space.disk.take(bytes.length)
    if (this.#onDisk === undefined) {
      const path = await this.#space.newPath()
      if (this.destroyed) return done()
      this.#onDisk = this.#create(path)
    }
    this.#onDisk.file.write(bytes, done)
  }

  #create (path: string): { readonly path: string, readonly file: WriteStream } {
    const file = createWriteStream(path, { flags: 'wx' })
    file.on('error', error => this.destroy(error))
    return { path, file }
  }

  override _final (done: Done): void {
    if (this.#onDisk === undefined) done()
    else this.#onDisk.file.end(done)
  }

  override _destroy (error: Error | null, done: Done): void {
    const file = this.#onDisk?.file
    if (file === undefined || file.closed) return done(error)
    file.once('close', () => done(error)).destroy()
  }

  /** Ends writing, complete or not; resolves when no file is open. */
  close (): Promise<void> {
    if (this.closed) return Promise.resolve()
    return new Promise(resolve => { this.once('close', resolve).destroy() })
  }

  /**
   * Lets other files have its memory. Nothing may open it any more. Where a reader has not come to its end, a socket may still
   * hold a piece of it, and the memory is left to the collector.
   */
  giveBack (): void {
    if (this.#readers === 0 && !this.#leftByReader) this.#pool.giveBack(this.#blocks.splice(0))
  }

  /** Returns the first bytes of a complete file: at most 4,100. */
  async head (): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    let size = 0
    for await (const piece of this.#pieces(headBytes)) {
      const part = piece.subarray(0, headBytes - size)
      pieces.push(part)
      size += part.length
      if (size === headBytes) break
    }
    return Buffer.concat(pieces)
  }

  /** Opens the bytes of a complete file anew. A reader that takes another piece must be done with those before. */
  async * open (): AsyncGenerator<Uint8Array, void, undefined> {
    this.#readers++
    let isRead = false
    try {
      yield * this.#pieces()
      isRead = true
    } finally {
      this.#readers--
      this.#leftByReader ||= !isRead
    }
  }

  /** @param highWaterMark bytes of a read from the disk */
  async * #pieces (highWaterMark?: number): AsyncGenerator<Uint8Array, void, undefined> {
    const isLastCopied = this.#blocks.length > 0
    const last = this.#inMemory.length - 1
    for (const [index, piece] of this.#inMemory.entries()) {
      // A small piece is not waited for: it may still be in a socket when the reader has come to the end.
      yield index === last && isLastCopied ? Buffer.from(piece) : piece
    }
    if (this.#onDisk !== undefined) yield * createReadStream(this.#onDisk.path, { highWaterMark })
  }
}
