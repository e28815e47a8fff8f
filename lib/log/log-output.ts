/**
 * Writes lines of the log to standard output, many at once, while calls go on. What cannot be written now, as
 * nothing reads it or the disk is full, waits up to a limit. Once there is no place to write to, as a
 * terminal that was closed, lines are dropped.
 */

import fs from 'node:fs'

/** Lines are written once they reach this length, or after this interval. */
const maxBufferedLength = 32 * 1024
const writeIntervalMs = 250
/** Text that waits for what is being written; more is dropped. */
const maxUnreadLength = 16 * 1024 * 1024
const retryMs = 100
/** A longer write is one that nothing reads. An exit tries no longer either. */
const maxWriteMs = 1000

/**
 * Codes of errors that say that there is no place to write to any more: a closed terminal, pipe or
 * descriptor.
 */
const goneCodes: ReadonlySet<unknown> = new Set(['EIO', 'EPIPE', 'EBADF'])
const busyCodes: ReadonlySet<unknown> = new Set(['EAGAIN', 'EBUSY'])

const standardOutput = 1

/** The part of `node:fs` that is needed. */
interface System {
  readonly write: (file: number, bytes: Buffer, done: (error: Error | null, written: number) => void) => void
  readonly writeSync: (file: number, bytes: Buffer, offset: number) => number
}

export class LogOutput {
  readonly #system: System
  readonly #format: (line: string) => string
  readonly #timer: NodeJS.Timeout
  readonly #onExit = (): void => this.writeBeforeExit()
  #lines = ''
  readonly #waiting: string[] = []
  #waitingLength = 0
  /** Bytes that are being written, or that could not be yet. */
  #bytes: Buffer | undefined
  /** Known while the system writes. */
  #startedMs: number | undefined
  #idle: Array<() => void> = []
  #isClosed = false
  /** Takes each line as well. */
  copy: ((line: string) => void) | undefined

  /** @param format makes what is written of a line */
  constructor (system: System = fs, format = (line: string): string => line) {
    this.#system = system
    this.#format = format
    process.once('exit', this.#onExit)
    this.#timer = setInterval(() => this.#send(), writeIntervalMs).unref()
  }

  write (line: string): void {
    this.#lines += this.#format(line)
    if (this.#lines.length >= maxBufferedLength) this.#send()
    this.copy?.(line)
  }

  /** Calls back once all lines so far are written or dropped. */
  flush (done: () => void): void {
    this.#send()
    if (this.#bytes === undefined) done()
    else this.#idle.push(done)
  }

  /** Drops what is not written, and everything that follows. */
  close (): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    process.off('exit', this.#onExit)
    this.#lines = ''
    this.#waiting.length = this.#waitingLength = 0
    this.#bytes = undefined
    this.#callBack()
  }

  /**
   * Writes what is left, without the event loop. Takes no longer than a second, unless the system makes the
   * process wait for a reader.
   */
  writeBeforeExit (): void {
    if (this.#isClosed) return
    const isWriting = this.#startedMs !== undefined
    const isUnread = performance.now() - (this.#startedMs ?? Infinity) > maxWriteMs
    const text = Buffer.from(this.#waiting.join('') + this.#lines)
    // The system ends a write that it has begun.
    const left = this.#bytes === undefined || isWriting ? text : Buffer.concat([this.#bytes, text])
    this.close()
    if (!isUnread) this.#writeAll(left)
  }

  #writeAll (bytes: Buffer): void {
    const endMs = performance.now() + maxWriteMs
    for (let written = 0; written < bytes.length;) {
      try {
        written += this.#system.writeSync(standardOutput, bytes, written)
      } catch (error) {
        if (!busyCodes.has(codeOf(error)) || performance.now() > endMs) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
      }
    }
  }

  #send (): void {
    if (this.#lines === '') return
    if (!this.#isClosed && this.#waitingLength + this.#lines.length <= maxUnreadLength) {
      this.#waiting.push(this.#lines)
      this.#waitingLength += this.#lines.length
    }
    this.#lines = ''
    if (this.#bytes === undefined) this.#writeNext()
  }

  #writeNext (): void {
    const text = this.#waiting.shift()
    if (text === undefined) {
      this.#callBack()
      return
    }
    this.#waitingLength -= text.length
    this.#write(Buffer.from(text))
  }

  #write (bytes: Buffer): void {
    this.#bytes = bytes
    this.#startedMs = performance.now()
    this.#system.write(standardOutput, bytes, (error, written) => {
      this.#startedMs = undefined
      if (this.#isClosed) return
      if (error !== null) this.#retryOrClose(error, bytes)
      else if (written < bytes.length) this.#write(bytes.subarray(written))
      else {
        this.#bytes = undefined
        this.#writeNext()
      }
    })
  }

  #retryOrClose (error: Error, bytes: Buffer): void {
    if (goneCodes.has(codeOf(error))) this.close()
    else setTimeout(() => { if (!this.#isClosed) this.#write(bytes) }, retryMs).unref()
  }

  #callBack (): void {
    for (const done of this.#idle.splice(0)) done()
  }
}

function codeOf (error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
