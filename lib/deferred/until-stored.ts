/** Keeps results of deferred and background work while the store is unreachable: each has been paid for. */

import { sleep } from '../async/sleep.ts'
import { GatewayError } from '../core/errors.ts'

export interface UntilStoredOptions {
  /** Aborted when the process stops, or the work is cancelled. */
  readonly signal: AbortSignal
  /** Called with each failure that is followed by another attempt. */
  readonly onFailure: (error: unknown) => void
  /** When a lease of the work ends unless it is renewed. */
  readonly leaseMs: number
}

/** With a lease of 30 seconds, the store may be unreachable for ten minutes. */
const maxAttempts = 60

/**
 * Repeats a write until the store takes it; once the signal has aborted, one last time.
 *
 * @throws the last error, or the first one that does not mean that the store is unreachable
 */
export async function untilStored<T> (
  write: () => Promise<T>,
  { signal, onFailure, leaseMs }: UntilStoredOptions
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await write()
    } catch (error) {
      const isUnreachable = error instanceof GatewayError && error.code === 'overloaded'
      if (!isUnreachable || signal.aborted || attempts === maxAttempts) throw error
      onFailure(error)
    }
    try {
      await sleep(Math.min(leaseMs / 30 * 2 ** (attempts - 1), leaseMs / 3), signal)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}
