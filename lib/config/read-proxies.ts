/** Reads the proxies of the environment and of each provider. */

import { isNeverProxied, proxyFor, type EnvironmentProxies } from '../net/proxy-for.ts'
import { Secret } from '../core/secret.ts'
import type { ProxySettings } from '../core/settings.ts'
import type { Report } from './report.ts'

/** Returns the proxy variables, in upper or lower case. Invalid URLs are reported without quoting them. */
export function readProxies (environment: ReadonlyMap<string, string>, report: Report): EnvironmentProxies {
  const valueOf = (name: string): string | undefined =>
    environment.get(name) ?? environment.get(name.toLowerCase())
  const address = (name: string): string | undefined => {
    const text = valueOf(name)
    if (text === undefined || parseProxy(text) !== undefined) return text
    report.add([name], 'must be the address of an HTTP proxy, such as http://proxy.example.com:3128', {
      variable: name
    })
    return undefined
  }
  return { https: address('HTTPS_PROXY'), http: address('HTTP_PROXY'), exceptions: valueOf('NO_PROXY') }
}

/** @param own the provider's entries */
export function proxyOf (
  baseUrl: string,
  own: { readonly proxy?: string | undefined, readonly credentials?: Secret | undefined },
  proxies: EnvironmentProxies
): ProxySettings | undefined {
  if (own.proxy === 'none' || !URL.canParse(baseUrl)) return undefined
  const server = new URL(baseUrl)
  if (own.proxy !== undefined) {
    if (isNeverProxied(server)) return undefined
    return {
      url: new URL(own.proxy).origin,
      ...own.credentials !== undefined && { credentials: own.credentials }
    }
  }
  const text = proxyFor(server, proxies)
  return text === undefined ? undefined : parseProxy(text)
}

/** Parses `http://user:password@host:port`; the default scheme is `http:`. */
function parseProxy (text: string): ProxySettings | undefined {
  const address = text.includes('://') ? text : `http://${text}`
  if (!URL.canParse(address)) return undefined
  const { protocol, origin, username, password } = new URL(address)
  if (protocol !== 'http:' && protocol !== 'https:') return undefined
  const credentials = decoded(`${username}:${password}`)
  if (credentials === undefined) return undefined
  return { url: origin, ...credentials !== ':' && { credentials: new Secret(credentials) } }
}

function decoded (text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // invalid percent encoding
  }
}
