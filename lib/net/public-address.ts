/** Distinguishes public internet addresses from all others, in any spelling. */

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * The Azure service that configures virtual machines. Its address is public unicast, but only reachable from
 * inside.
 *
 * @see https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
 */
export const azurePlatformAddress = '168.63.129.16'

/**
 * Returns true when an address belongs to the public internet: unicast, and for version 6 within
 * 2000::/3, the only part that is assigned. Everything that embeds a version 4 address
 * (mapped, compatible, 6to4, Teredo, NAT64) is judged by that address or refused.
 *
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export function isPublicAddress (address: string): boolean {
  const parsed = parse(address)
  if (parsed === undefined || parsed.range() !== 'unicast') return false
  if (parsed.kind() === 'ipv4') return parsed.toString() !== azurePlatformAddress
  const first = (parsed as ipaddr.IPv6).parts[0] ?? 0 // its kind was just checked
  return first >= 0x2000 && first <= 0x3fff
}

/** The operator's exceptions: names with or without a port, addresses, ranges. */
export class AllowedAddresses {
  readonly #hosts = new Set<string>()
  readonly #ranges: Array<[ipaddr.IPv4 | ipaddr.IPv6, number]> = []

  constructor (allowed: readonly string[]) {
    for (const entry of allowed) {
      const address = parse(entry)
      if (ipaddr.isValidCIDR(entry)) this.#ranges.push(ipaddr.parseCIDR(entry))
      else if (address !== undefined) this.#ranges.push([address, address.kind() === 'ipv4' ? 32 : 128])
      else this.#hosts.add(withoutBrackets(entry.toLowerCase()))
    }
  }

  /** Returns true for a host that is allowed by its name, or whose address is. */
  admit (host: string, port: string, protocol: string, address: string): boolean {
    if (this.admitsName(host, port, protocol)) return true
    const parsed = parse(address)
    return parsed !== undefined && this.#ranges.some(range =>
      range[0].kind() === parsed.kind() && parsed.match(range))
  }

  /** Returns true for a host that is allowed by its name, whatever its addresses are. */
  admitsName (host: string, port: string, protocol: string): boolean {
    const name = host.toLowerCase()
    const number = port === '' ? (protocol === 'https:' ? '443' : '80') : port
    return this.#hosts.has(name) || this.#hosts.has(`${name}:${number}`)
  }
}

/** Parses an address; mapped IPv4 addresses become IPv4. */
function parse (address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const [plain = ''] = bareHost(address).split('%')
  return isIP(plain) === 0 ? undefined : ipaddr.process(plain)
}

export function bareHost (host: string): string {
  return host.replace(/^\[|\]$/g, '')
}

/** Normalises `[::1]` and `[::1]:80` for comparison: `::1`, `::1:80`. */
function withoutBrackets (entry: string): string {
  return entry.replace(/^\[([^\]]*)\]/, '$1')
}
