/** Structured lines on standard output; never a body, a header or a secret. */

import { destination, pino, type DestinationStream, type Logger } from 'pino'

export type Log = Logger

/** Lines are written when there is so much text of them, or after so many milliseconds. */
const maxBufferedLength = 32 * 1024
const flushIntervalMs = 250

/** Where the loggers made here write to, for `writeLine`. */
const streams = new WeakMap<Log, DestinationStream>()

/**
 * Lines are collected and written together; `flush` writes what is still held, before an exit.
 *
 * @param level `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`
 * @param stream where lines go, for tests; default standard output
 */
export function createLog (level: string, stream: DestinationStream = new StandardOutput()): Log {
  const log = pino({ level, base: null, timestamp }, stream)
  streams.set(log, stream)
  return log
}

/**
 * Writes a line as `log[level](fields, message)` does, for one with many fields that comes with
 * every call: pino takes 6 µs to print twenty of them, `JSON.stringify` 2.
 *
 * @param fields plain values, at least one of them given
 * @param message without anything that JSON would escape
 */
export function writeLine (log: Log, level: 'info' | 'warn' | 'error', fields: object, message: string): void {
  const stream = streams.get(log)
  if (stream === undefined) log[level](fields, message) // a logger with ways of its own
  else stream.write(`{"level":${log.levels.values[level]}${timestamp()},${JSON.stringify(fields).slice(1, -1)},"msg":"${message}"}\n`)
}

/** Resolves when all lines so far are written, or cannot be. */
export async function flushed (log: Log): Promise<void> {
  await new Promise<void>(resolve => { log.flush(() => resolve()) })
}

/**
 * Gathers lines in front of pino's own stream, which would do so too, but copies all it holds for
 * every line it is given: some 6 KB per call.
 */
class StandardOutput implements DestinationStream {
  readonly #stream
  #lines = ''

  constructor () {
    // Before the stream's own listener, which writes what it holds by then.
    process.once('exit', () => this.#pass())
    this.#stream = destination({ dest: 1, sync: false, minLength: 1 })
    setInterval(() => this.#pass(), flushIntervalMs).unref()
  }

  write (line: string): void {
    this.#lines += line
    if (this.#lines.length >= maxBufferedLength) this.#pass()
  }

  flush (done: (error?: Error) => void): void {
    this.#pass()
    this.#stream.flush(done)
  }

  #pass (): void {
    if (this.#lines === '') return
    this.#stream.write(this.#lines)
    this.#lines = ''
  }
}

let stampedMs = 0
let stamp = ''

/** The time as ISO 8601; made once a millisecond, as making it costs as much as the rest of a line. */
function timestamp (): string {
  const nowMs = Date.now()
  if (nowMs !== stampedMs) {
    stampedMs = nowMs
    stamp = `,"time":"${new Date(nowMs).toISOString()}"`
  }
  return stamp
}
