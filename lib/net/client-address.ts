/** Finds the address that a request comes from, as reported by the proxy where one is trusted. */

import { isIP } from 'node:net'

/**
 * Returns the address of a client; an IPv4-mapped IPv6 address becomes IPv4. Empty if unknown.
 *
 * @param connected the other end of the connection
 * @param chain `X-Forwarded-For`: its last entry is the address that the proxy saw; a caller may have written
 *   the others
 */
export function clientAddress (
  connected: string | undefined,
  chain: string | string[] | undefined,
  trustProxy: boolean
): string {
  const forwarded = trustProxy
    ? String(chain ?? '')
        .split(',')
        .at(-1)
        ?.trim()
    : undefined
  const address = forwarded === undefined || isIP(forwarded) === 0 ? (connected ?? '') : forwarded
  const mapped = address.replace(/^::ffff:/i, '')
  return isIP(mapped) === 4 ? mapped : address
}
