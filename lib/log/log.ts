/** Writes structured lines to standard output; never a body, a header or a secret. */

import fs from 'node:fs'
import { pino, type DestinationStream, type Logger } from 'pino'
import { withTimeout } from '../async/with-timeout.ts'
import { LogOutput } from './log-output.ts'
import { readableLine } from './readable-line.ts'

export type Log = Logger

const maxFlushMs = 1000

/** Maps loggers created here to their stream, for `writeLine`. */
const streams = new WeakMap<Log, DestinationStream>()

/** How lines are written: `auto` is `text` on a terminal, else `json`. */
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
 * Writes a line as `log[level](fields, message)` does, for one with many fields that comes with
 * every call: pino takes 6 µs to print twenty of them, `JSON.stringify` 2.
 *
 * @param fields printed: the members of a JSON object, at least one
 * @param message without anything that JSON would escape
 */
export function writeLine (
  log: Log,
  level: 'info' | 'warn' | 'error',
  fields: string,
  message: string
): void {
  const stream = streams.get(log)
  // a logger that was created elsewhere
  if (stream === undefined) log[level](JSON.parse(`{${fields}}`), message)
  else stream.write(`{"level":"${level}"${timestamp()},${fields},"msg":"${message}"}\n`)
}

/**
 * Passes each further line of the log of the process on as well: JSON, whatever is written.
 *
 * @param copy `undefined` to end it
 */
export function copyLines (log: Log, copy: ((line: string) => void) | undefined): void {
  const stream = streams.get(log)
  if (stream instanceof LogOutput) stream.copy = copy
}

/**
 * Resolves when all lines so far are written, or cannot be: nothing may read standard output any more.
 * The lines that are left after a second are dropped; the end of the process would wait for them forever.
 */
export async function flushed (log: Log): Promise<void> {
  const written = new Promise<true>(resolve => { log.flush(() => resolve(true)) })
  const stream = streams.get(log)
  if (await withTimeout(maxFlushMs, written) === undefined && stream instanceof LogOutput) stream.close()
}

let stampedSecond = NaN
/** The time up to its milliseconds. */
let second = ''

/**
 * Formats the time as ISO 8601, all but the milliseconds once a second: formatting costs as much as the rest
 * of a line.
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
