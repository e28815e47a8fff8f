/**
 * Decides whether the dashboard is served: outside loopback only over TLS, since passwords and sessions would
 * otherwise be sent in cleartext.
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

/** Returns true if it would be served with TLS. */
export function isDashboardUnsafe ({
  dashboard: { enabled, insecure },
  server: { host, trustProxy, tls }
}: DashboardSettings): boolean {
  return enabled && !isLoopback(host) && !trustProxy && tls === undefined && !insecure
}
