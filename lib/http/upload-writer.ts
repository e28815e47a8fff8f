/**
 * Keeps a file of a form while its call is in flight: in memory while there is plenty, the rest on disk.
 *
 * Writing a megabyte to disk and reading it again costs 1.8 ms of CPU time, three times as much as everything
 * else done with it.
 */

import { createReadStream, createWriteStream, type WriteStream } from 'node:fs'
import { Writable } from 'node:stream'
import { asGatewayError } from '../core/errors.ts'
import { SmallPieces, bytesPerPiece } from './small-pieces.ts'
import type { ByteAllowance } from './admission.ts'

/** Enough bytes to recognise a file format. */
const headBytes = 4100

export interface UploadSpace {
  readonly memory: ByteAllowance
  readonly disk: ByteAllowance
  /** Returns the path of a file that does not exist yet. */
  readonly newPath: () => Promise<string>
}

type Done = (error?: Error | null) => void

export class UploadWriter extends Writable {
  readonly #space: UploadSpace
  /** The beginning of the file, or all of it. */
  readonly #inMemory: Buffer[] = []
  /** Pieces that are neither in memory nor on disk yet. */
  #waiting: Buffer[] = []
  /** The parser emits two small pieces for each carriage return. */
  readonly #small = new SmallPieces(piece => { this.#waiting.push(piece) })
  #onDisk: { readonly path: string, readonly file: WriteStream } | undefined

  constructor (space: UploadSpace) {
    super()
    this.#space = space
  }

  override _write (bytes: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#small.push(bytes)
    this.#keep(done)
  }

  #keep (done: Done): void {
    const { memory } = this.#space
    const waiting = this.#waiting
    this.#waiting = []
    try {
      while (
        this.#onDisk === undefined &&
        waiting[0] !== undefined &&
        memory.leavesHalfFree(waiting[0].length + bytesPerPiece)
      ) {
        memory.take(waiting[0].length + bytesPerPiece)
        this.#inMemory.push(waiting[0])
        waiting.shift()
      }
    } catch (error) {
      return done(asGatewayError(error))
    }
    if (waiting.length === 0) return done()
    this.#writeToDisk(Buffer.concat(waiting), done).catch((error: unknown) => done(asGatewayError(error)))
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
    this.#small.flush()
    this.#keep(error => {
      if (error || this.#onDisk === undefined) done(error)
      else this.#onDisk.file.end(done)
    })
  }

  override _destroy (error: Error | null, done: Done): void {
    const file = this.#onDisk?.file
    if (file === undefined || file.closed) return done(error)
    file.once('close', () => done(error)).destroy()
  }

  /** Ends writing, even if incomplete; resolves when no file is open. */
  close (): Promise<void> {
    if (this.closed) return Promise.resolve()
    return new Promise(resolve => { this.once('close', resolve).destroy() })
  }

  /** Returns the first bytes of a complete file: at most 4,100. */
  async head (): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    let size = 0
    for await (const piece of this.open(headBytes)) {
      const part = piece.subarray(0, headBytes - size)
      pieces.push(part)
      size += part.length
      if (size === headBytes) break
    }
    return Buffer.concat(pieces)
  }

  /**
   * Opens a complete file for reading, each time from its start.
   *
   * @param highWaterMark bytes per read from disk
   */
  async * open (highWaterMark?: number): AsyncGenerator<Uint8Array, void, undefined> {
    yield * this.#inMemory
    if (this.#onDisk !== undefined) yield * createReadStream(this.#onDisk.path, { highWaterMark })
  }
}
