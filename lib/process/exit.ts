/** Ways to exit that cannot hang. */

import type { ServerSettings } from '../core/settings.ts'

/** Milliseconds that closing may take beyond the delay and the drain. */
export const closeGraceMs = 1200
const maxOutputMs = 1000

/** Exits with 1 once a stop has taken longer than its settings allow, whatever hangs. */
export function exitIfStopHangs ({ shutdownDelayMs, drainMs }: Pick<ServerSettings, 'shutdownDelayMs' | 'drainMs'>): void {
  setTimeout(() => process.exit(1), shutdownDelayMs + drainMs + closeGraceMs).unref()
}

/** Exits once everything is printed, or nothing has read it for a second. */
export function exitWhenPrinted (code: number): void {
  const exit = (): void => process.exit(code)
  setTimeout(exit, maxOutputMs)
  process.stdout.write('', exit)
}
