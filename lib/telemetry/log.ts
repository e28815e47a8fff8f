/** Structured lines on standard output; never a body, a header or a secret. */

import { destination, pino, type DestinationStream, type Logger } from 'pino'

export type Log = Logger

/**
 * Lines are collected and written together; `flush` writes what is still held, before an exit.
 *
 * @param level `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`
 * @param stream where lines go, for tests; default standard output
 */
export function createLog (level: string, stream?: DestinationStream): Log {
  return pino(
    { level, base: null, timestamp },
    stream ?? destination({ dest: 1, sync: false, minLength: 12 * 1024, periodicFlush: 250 })
  )
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

/** Resolves when all lines so far are written, or cannot be. */
export async function flushed (log: Log): Promise<void> {
  await new Promise<void>(resolve => { log.flush(() => resolve()) })
}
