/**
 * Decides whether there is a dashboard: beyond loopback not without TLS, as passwords and sessions would
 * travel in clear.
 */

import { isLoopback } from '../net/loopback.ts'
import type { Settings } from '../core/settings.ts'

export interface DashboardSettings {
  readonly dashboard: Pick<Settings['dashboard'], 'enabled' | 'insecure'>
  readonly server: Pick<Settings['server'], 'host' | 'trustProxy' | 'tls'>
}

export function isDashboardServed (settings: DashboardSettings): boolean {
  return settings.dashboard.enabled && !isDashboardUnsafe(settings)
}

/** Returns true where it would be served, if that were safe. */
export function isDashboardUnsafe ({
  dashboard: { enabled, insecure },
  server: { host, trustProxy, tls }
}: DashboardSettings): boolean {
  return enabled && !isLoopback(host) && !trustProxy && tls === undefined && !insecure
}
