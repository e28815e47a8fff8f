import { setTimeout as sleep } from 'node:timers/promises'
import { standardSignal } from './cancellation.ts'
import type { CallSignal } from '../core/call-signal.ts'

/**
 * Waits for a time; not at all for 0.
 *
 * @throws the signal's reason when it aborts first
 */
export async function pause (ms: number, signal: CallSignal): Promise<void> {
  if (ms === 0) return
  try {
    await sleep(ms, undefined, { signal: standardSignal(signal) })
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  }
}
