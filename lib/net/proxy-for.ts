/** Decides which requests go through the proxies that `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name. */

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { isLoopback } from './loopback.ts'
import { azurePlatformAddress, bareHost } from './public-address.ts'

export interface EnvironmentProxies {
  /** Addresses of the proxies for `https:` and for `http:` servers. */
  readonly https: string | undefined
  readonly http: string | undefined
  /** Hosts reached directly, separated by commas or spaces. */
  readonly exceptions: string | undefined
}

/** Cloud services that give credentials to any program on the machine. */
const metadataHosts: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'instance-data',
  'instance-data.ec2.internal',
  '100.100.100.200',
  azurePlatformAddress,
  'fd00:ec2::254'
])

/**
 * Returns true for loopback, link-local addresses and metadata services: through a proxy, these would be the
 * proxy's own, or unreachable.
 */
export function isNeverProxied (server: URL): boolean {
  return isNeverProxiedHost(hostOf(server))
}

/** @param host a name in lower case or an address, without brackets */
export function isNeverProxiedHost (host: string): boolean {
  if (isIP(host) === 0) return isLoopback(host) || metadataHosts.has(host)
  const address = ipaddr.process(host)
  const range = address.range()
  return range === 'loopback' || range === 'linkLocal' || metadataHosts.has(address.toString())
}

/**
 * Returns the address of the proxy for a server according to the environment; `undefined` if the server is
 * reached directly.
 */
export function proxyFor (
  server: URL,
  { https, http, exceptions = '' }: EnvironmentProxies
): string | undefined {
  const isSecure = server.protocol === 'https:'
  const port = server.port || (isSecure ? '443' : '80')
  const isException = exceptions
    .split(/[\s,]+/)
    .some(entry => entry !== '' && matches(entry.toLowerCase(), hostOf(server), port))
  return isException || isNeverProxied(server) ? undefined : isSecure ? https : http
}

/**
 * @param entry `*`, a host with its subdomains (`example.com`, `.example.com`, `*.example.com`), an address
 *   or a range; optionally with a port
 */
function matches (entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  if (ipaddr.isValidCIDR(entry)) return isInRange(host, entry)
  const colon = isIP(entry) === 0 ? entry.lastIndexOf(':') : -1
  const hasPort = colon !== -1 && !entry.endsWith(']')
  if (hasPort && entry.slice(colon + 1) !== port) return false
  const suffix = bareHost(hasPort ? entry.slice(0, colon) : entry).replace(/^\*?\./, '')
  return suffix !== '' && (host === suffix || host.endsWith(`.${suffix}`))
}

function isInRange (host: string, range: string): boolean {
  if (isIP(host) === 0) return false
  const address = ipaddr.process(host)
  const [base, bits] = ipaddr.parseCIDR(range)
  return address.kind() === base.kind() && address.match(base, bits)
}

function hostOf ({ hostname }: URL): string {
  return bareHost(hostname).toLowerCase()
}
