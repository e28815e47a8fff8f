import { isIP } from 'node:net'
import { isLoopback } from './loopback.ts'
import { bareHost, isPublicAddress } from './public-address.ts'

/** Endings that the public DNS does not have. */
const ownEndings = ['.localhost', '.local', '.internal', '.lan', '.home.arpa', '.svc']

/**
 * Returns true for hosts of the operator's own network: addresses that are not public, names without a dot,
 * and names with an ending that the public DNS does not have.
 */
export function isOwnHost ({ hostname }: URL): boolean {
  const host = bareHost(hostname).toLowerCase()
  if (isIP(host) !== 0) return isLoopback(host) || !isPublicAddress(host)
  return !host.includes('.') || ownEndings.some(ending => host.endsWith(ending))
}
