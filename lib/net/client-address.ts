/** Finds out which address a request comes from, as the proxy says where one is trusted. */

import { isIP } from 'node:net'

/**
 * Returns the address of a client; an IPv4 address as such where a socket of IPv6 has it. Empty where it is
 * not known.
 *
 * @param connected the other end of the connection
 * @param chain `X-Forwarded-For`: its last entry is what the proxy has seen itself, a caller may have written
 *   those before it
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
