import { setTimeout as delay } from 'node:timers/promises'
import { standardSignal } from './cancellation.ts'
import type { CallSignal } from '../core/call.ts'

/**
 * Waits `ms` milliseconds; returns immediately for 0.
 *
 * @throws the signal's reason when it aborts first
 */
export async function sleep (ms: number, signal: CallSignal): Promise<void> {
  if (ms === 0) return
  try {
    await delay(ms, undefined, { signal: standardSignal(signal) })
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  }
}
