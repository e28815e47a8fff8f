/**
 * Memory for the files of forms that is used again.
 *
 * A recording of 10 MB that is kept in the pieces in which it came is 10 MB that only a full collection frees: V8 starts one for every
 * few recordings, which takes more CPU time than everything else that happens to them. In blocks that the next file takes over, no
 * collection is needed; to copy a piece into them costs a tenth of that.
 *
 * A block may be given back once nothing can read it any more. Where that is not certain, it is left to the collector.
 */

/** Bytes of a block. */
export const blockBytes = 256 * 1024
/** Bytes of free blocks that are kept: three recordings. */
const maxFreeBytes = 32 * 1024 * 1024
/** Long enough for recordings that come every few seconds: making blocks anew for each would cost a tenth of its time. */
const keepMs = 60_000

export class UploadBlocks {
  readonly #keepFreeMs: number
  readonly #free: Buffer[] = []
  #timer: NodeJS.Timeout | undefined

  /** @param keepFreeMs milliseconds without a file after which free blocks are released */
  constructor (keepFreeMs = keepMs) {
    this.#keepFreeMs = keepFreeMs
  }

  /** Returns the number of blocks that wait for a file. */
  get free (): number {
    return this.#free.length
  }

  /** Returns a block, with what its last file has left in it. */
  take (): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(blockBytes)
  }

  /** Takes blocks back of a file that nothing reads any more. */
  giveBack (blocks: readonly Buffer[]): void {
    if (blocks.length === 0) return
    this.#free.push(...blocks.slice(0, maxFreeBytes / blockBytes - this.#free.length))
    this.#timer ??= setTimeout(() => this.#release(), this.#keepFreeMs).unref()
    this.#timer.refresh()
  }

  #release (): void {
    this.#timer = undefined
    this.#free.length = 0
  }
}

/** The blocks of this process. */
export const uploadBlocks = new UploadBlocks()
