/** Ways to exit that cannot hang. */

import { hasUnendedThreads } from '../async/run-in-worker.ts'
import type { ServerSettings } from '../core/settings.ts'

/** Milliseconds that closing may take beyond the delay and the drain. */
export const closeGraceMs = 1200
const maxOutputMs = 1000

/** Exits with 1 once a stop has taken longer than its settings allow, whatever is still open. */
export function exitIfStopHangs ({
  shutdownDelayMs,
  drainMs
}: Pick<ServerSettings, 'shutdownDelayMs' | 'drainMs'>): void {
  setTimeout(() => exitNow(1), shutdownDelayMs + drainMs + closeGraceMs).unref()
}

/** Exits once all output has been read, or none has been for a second. */
export function exitWhenPrinted (code: number): void {
  const exit = (): void => exitNow(code)
  setTimeout(exit, maxOutputMs)
  process.stdout.write('', exit)
}

/** Exits. A thread that does not end would block `process.exit`; the process is then killed. */
function exitNow (code: number): void {
  if (hasUnendedThreads()) process.kill(process.pid, 'SIGKILL')
  else process.exit(code)
}
