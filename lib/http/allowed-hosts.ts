/**
 * Decides which names of this gateway a request may use.
 *
 * A web page whose name resolves to a loopback address (DNS rebinding) can send requests to a gateway that
 * only this machine should reach; what gives it away is its name in `Host`.
 */

import { isLoopback } from '../net/loopback.ts'

/**
 * Returns a check of the `Host` header: at a loopback address, the names and addresses of loopback and those
 * in `acceptedHosts`; at any other address all, unless there are `acceptedHosts`. `*` allows all.
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
