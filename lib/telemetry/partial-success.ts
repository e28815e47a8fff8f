/**
 * Reads what a collector rejected of a request that it accepted otherwise. OpenTelemetry's exporters call
 * such a request delivered; only their diagnostics, immediately before the result, say what was rejected.
 */

import { diag, DiagLogLevel, type DiagLogger } from '@opentelemetry/api'
import { objectOf } from '../json/type-guards.ts'

export interface PartialSuccess {
  /** Spans, data points or log records: at least one. */
  readonly rejected: number
  /** The collector's words; may be empty. */
  readonly reason: string
}

/** How the exporters begin the message about it, which continues with the collector's answer as JSON. */
const announcement = 'Received Partial Success response:'

const maxReasonLength = 300

let latest: PartialSuccess | undefined

const logger: DiagLogger = {
  error: () => undefined,
  warn: (message, ...details) => { if (message === announcement) latest = read(details[0]) },
  info: () => undefined,
  debug: () => undefined,
  verbose: () => undefined
}

/** Starts reading the diagnostics, which have one reader per process. */
export function watchPartialSuccess (): void {
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}

/** Returns what was rejected of the request whose result is being reported; `undefined` if nothing was. */
export function takePartialSuccess (): PartialSuccess | undefined {
  const taken = latest
  latest = undefined
  return taken
}

function read (detail: unknown): PartialSuccess | undefined {
  const answer = typeof detail === 'string' ? objectOf(JSON.parse(detail)) : undefined
  // Each signal has its own name for the number, which JSON may have as a string.
  const rejected = Number(
    answer?.['rejectedSpans'] ?? answer?.['rejectedDataPoints'] ?? answer?.['rejectedLogRecords']
  )
  const reason = answer?.['errorMessage']
  if (!(rejected > 0)) return undefined
  return { rejected, reason: typeof reason === 'string' ? reason.slice(0, maxReasonLength) : '' }
}
