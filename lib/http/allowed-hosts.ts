/**
 * Decides which host names a request may use for this gateway.
 *
 * A web page whose name resolves to a loopback address (DNS rebinding) can send requests to a gateway that
 * only this machine should reach. Its name in `Host` gives it away.
 */

import { isLoopback } from '../net/loopback.ts'

/**
 * Returns a check of the `Host` header. At a loopback address it accepts names and addresses of loopback and
 * those in `acceptedHosts`; at any other address everything, unless `acceptedHosts` is set. `*` accepts
 * everything.
 */
export function allowedHosts ({
  host,
  acceptedHosts
}: {
  readonly host: string
  readonly acceptedHosts: readonly string[]
}): (header: string) => boolean {
  if (acceptedHosts.includes('*') || (acceptedHosts.length === 0 && !isLoopback(host))) return () => true
  const names = new Set(acceptedHosts.map(name => name.toLowerCase()))
  return header => {
    const name = header.toLowerCase().replace(/:\d*$/, '')
    return names.has(name) || isLoopback(name)
  }
}
