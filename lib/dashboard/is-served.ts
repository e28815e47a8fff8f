/** Decides whether there is a dashboard: beyond loopback not without TLS, as passwords and sessions would travel in clear. */

import { isLoopback } from '../net/loopback.ts'
import type { Settings } from '../core/settings.ts'

export type DashboardPlace = Pick<Settings, 'dashboard'> & { readonly server: Pick<Settings['server'], 'host' | 'trustProxy'> }

export function isDashboardServed (place: DashboardPlace): boolean {
  return place.dashboard.enabled && !isDashboardUnsafe(place)
}

/** Returns true where it would be served, if that were safe. */
export function isDashboardUnsafe ({ dashboard: { enabled, insecure }, server: { host, trustProxy } }: DashboardPlace): boolean {
  return enabled && !isLoopback(host) && !trustProxy && !insecure
}
