/**
 * Keeps a file of a form while its call is in flight: in memory while there is plenty of it, what comes after that on disk.
 *
 * A byte that is written to disk and read again costs the process 1.8 ms of CPU time per megabyte, three times as much as
 * everything else that happens to it.
 */

import { createReadStream, createWriteStream, type WriteStream } from 'node:fs'
import { Writable } from 'node:stream'
import { asGatewayError } from '../core/errors.ts'
import type { Reservation } from './admission.ts'

/** Memory of a piece beside its bytes. */
const pieceBytes = 256
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
  /** The beginning of the file, or all of it. */
  readonly #inMemory: Buffer[] = []
  #onDisk: { readonly path: string, readonly file: WriteStream } | undefined

  constructor (space: UploadSpace) {
    super()
    this.#space = space
  }

  override _write (bytes: Buffer, _encoding: BufferEncoding, done: Done): void {
    const { memory } = this.#space
    if (this.#onDisk === undefined && memory.isCheap(bytes.length + pieceBytes)) {
      memory.take(bytes.length + pieceBytes)
      this.#inMemory.push(bytes)
      return done()
    }
    this.#writeToDisk(bytes, done).catch((error: unknown) => done(asGatewayError(error)))
  }

  async #writeToDisk (bytes: Buffer, done: Done): Promise<void> {
    this.#space.disk.take(bytes.length)
    this.#onDisk ??= this.#create(await this.#space.newPath())
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
    this.#onDisk?.file.destroy()
    done(error)
  }

  /** Returns the first bytes of a complete file: at most 4,100. */
  async head (): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    let size = 0
    for await (const piece of this.open(headBytes)) {
      pieces.push(piece)
      size += piece.length
      if (size >= headBytes) break
    }
    return Buffer.concat(pieces).subarray(0, headBytes)
  }

  /** Opens the bytes of a complete file anew. @param highWaterMark bytes of a read from the disk */
  async * open (highWaterMark?: number): AsyncGenerator<Uint8Array, void, undefined> {
    yield * this.#inMemory
    if (this.#onDisk !== undefined) yield * createReadStream(this.#onDisk.path, { highWaterMark })
  }
}
