/** Writes structured lines to standard output; never a body, a header or a secret. */

import fs from 'node:fs'
import { pino, type DestinationStream, type Logger } from 'pino'
import { withTimeout } from '../async/with-timeout.ts'
import { readableLine } from './readable-line.ts'

export type Log = Logger

const maxFlushMs = 1000

/** Maps loggers created here to their stream, for `writeLine`. */
const streams = new WeakMap<Log, DestinationStream>()

/** The format of lines: `auto` is `text` on a terminal, otherwise `json`. */
export type LogFormat = 'auto' | 'json' | 'text'

/**
 * Creates the logger of the process, which writes to standard output.
 *
 * @see createLog for the levels
 */
export function processLog ({ logLevel, logFormat }: { logLevel: string, logFormat: LogFormat }): Log {
  const isTerminal = process.stdout.isTTY
  if (logFormat === 'json' || (logFormat === 'auto' && !isTerminal)) return createLog(logLevel)
  const isColoured = isTerminal && process.stdout.hasColors()
  return createLog(logLevel, new LogOutput(fs, line => readableLine(line, isColoured)))
}

/**
 * Creates a logger. Lines are buffered and written together; `flush` writes the rest before an exit.
 *
 * @param level `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`
 * @param stream where lines go; default standard output
 */
export function createLog (level: string, stream: DestinationStream = new LogOutput()): Log {
  const formatters = { level: (name: string) => ({ level: name }) }
  const log = pino({ level, base: null, timestamp, formatters }, stream)
  streams.set(log, stream)
  return log
}

/**
 * Writes a line like `log[level](fields, message)`, for lines with many fields that come with every call:
 * pino takes 6 µs to print twenty fields, `JSON.stringify` 2.
 *
 * @param fields the members of the printed JSON object, at least one
 * @param message without anything that JSON would escape
 */
export function writeLine (
  log: Log,
  level: 'info' | 'warn' | 'error',
  fields: string,
  message: string
): void {
  const stream = streams.get(log)
  // a logger created elsewhere
  if (stream === undefined) log[level](JSON.parse(`{${fields}}`), message)
  else stream.write(`{"level":"${level}"${timestamp()},${fields},"msg":"${message}"}\n`)
}

/**
 * Sends every later log line to `copy` too, always as JSON.
 *
 * @param copy `undefined` to stop
 */
export function copyLines (log: Log, copy: ((line: string) => void) | undefined): void {
  const stream = streams.get(log)
  if (stream instanceof LogOutput) stream.copy = copy
}

/**
 * Resolves when all lines so far are written, or cannot be because nothing reads standard output any more.
 * Lines left after a second are dropped; otherwise the end of the process would wait for them forever.
 */
export async function flushed (log: Log): Promise<void> {
  const written = new Promise<true>(resolve => { log.flush(() => resolve(true)) })
  const stream = streams.get(log)
  if (await withTimeout(maxFlushMs, written) === undefined && stream instanceof LogOutput) stream.close()
}

let stampedSecond = NaN
/** The time without its milliseconds. */
let second = ''

/**
 * Formats the time as ISO 8601; everything except the milliseconds is formatted once a second, since
 * formatting costs as much as the rest of a line.
 */
function timestamp (): string {
  const nowMs = Date.now()
  const nowSecond = Math.floor(nowMs / 1000)
  if (nowSecond !== stampedSecond) {
    stampedSecond = nowSecond
    second = new Date(nowSecond * 1000).toISOString().slice(0, -4)
  }
  return `,"time":"${second}${String(nowMs % 1000).padStart(3, '0')}Z"`
}

/** Lines are written once they reach this length, or after this interval. */
const maxBufferedLength = 32 * 1024
const writeIntervalMs = 250
/** Maximum text that waits for the current write; more is dropped. */
const maxUnreadLength = 16 * 1024 * 1024
const retryMs = 100
/** Maximum duration of a write that nothing reads, and of an exit. */
const maxWriteMs = 1000

/** Codes of errors which mean that there is nowhere left to write: a closed terminal, pipe or descriptor. */
const goneCodes: ReadonlySet<unknown> = new Set(['EIO', 'EPIPE', 'EBADF'])
const busyCodes: ReadonlySet<unknown> = new Set(['EAGAIN', 'EBUSY'])

const standardOutput = 1

/** The required part of `node:fs`. */
interface System {
  readonly write: (file: number, bytes: Buffer, done: (error: Error | null, written: number) => void) => void
  readonly writeSync: (file: number, bytes: Buffer, offset: number) => number
}

/**
 * Writes lines of the log to standard output, many at a time, while calls continue. Lines that cannot be
 * written now, because nothing reads them or the disk is full, wait up to a limit. Once there is nowhere left
 * to write, as after a terminal was closed, lines are dropped.
 */
export class LogOutput {
  readonly #system: System
  readonly #format: ((line: string) => string) | undefined
  readonly #timer: NodeJS.Timeout
  readonly #onExit = (): void => this.writeBeforeExit()
  #lines = ''
  readonly #waiting: string[] = []
  #waitingLength = 0
  /** Bytes that are being written, or could not be yet. */
  #bytes: Buffer | undefined
  /** Known while the system writes. */
  #startedMs: number | undefined
  #idle: Array<() => void> = []
  #isClosed = false
  /** Gets a copy of each line. */
  copy: ((line: string) => void) | undefined

  /** @param format converts a line to its written form. Default: the line itself */
  constructor (system: System = fs, format?: (line: string) => string) {
    this.#system = system
    this.#format = format
    process.once('exit', this.#onExit)
    this.#timer = setInterval(() => this.#send(), writeIntervalMs).unref()
  }

  write (line: string): void {
    this.#lines += this.#format?.(line) ?? line
    if (this.#lines.length >= maxBufferedLength) this.#send()
    this.copy?.(line)
  }

  /** Calls back once all lines so far are written or dropped. */
  flush (done: () => void): void {
    this.#send()
    if (this.#bytes === undefined) done()
    else this.#idle.push(done)
  }

  /** Drops everything unwritten, and everything that follows. */
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
   * Writes the rest without the event loop. Takes no longer than a second, unless the system makes the
   * process wait for a reader.
   */
  writeBeforeExit (): void {
    if (this.#isClosed) return
    const isWriting = this.#startedMs !== undefined
    const isUnread = performance.now() - (this.#startedMs ?? Infinity) > maxWriteMs
    const text = Buffer.from(this.#waiting.join('') + this.#lines)
    // The system finishes a write that it has begun.
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
