/** Rules for connections to providers: proxies, certificates, HTTP/2. */

import type { Config } from '../../schemas/config.ts'
import type { Secret } from '../core/secret.ts'
import { isNeverProxied, type EnvironmentProxies } from '../net/proxy-for.ts'
import { tlsProblem } from '../net/tls-problem.ts'
import { kindOf, kinds } from '../providers/kinds.ts'
import { proxyOf } from './read-proxies.ts'
import type { Report } from './report.ts'

export interface ConnectionSources {
  readonly secrets: ReadonlyMap<string, Secret>
  readonly proxies: EnvironmentProxies
}

export function checkConnections (
  { providers }: Config,
  { secrets, proxies }: ConnectionSources,
  report: Report
): void {
  for (const [id, entry] of Object.entries(providers)) {
    const {
      kind,
      base_url: baseUrl = kinds[kindOf(id, kind)].baseUrl ?? '',
      proxy,
      proxy_credentials: credentials,
      tls,
      http2
    } = entry
    const at = (name: string): string[] => ['providers', id, name]
    if (!entry.enabled || !URL.canParse(baseUrl)) continue
    const isSecure = new URL(baseUrl).protocol === 'https:'
    if (proxy !== undefined && proxy !== 'none') {
      if (!URL.canParse(proxy)) report.add(at('proxy'), 'is not a valid URL')
      else if (isNeverProxied(new URL(baseUrl))) {
        report.add(
          at('proxy'),
          'cannot be used: this machine, link-local addresses and metadata services are reached directly'
        )
      }
    }
    if (credentials !== undefined && (proxy === undefined || proxy === 'none')) {
      report.add(at('proxy_credentials'), 'requires proxy', { part: 'name' })
    }
    if (http2 && !isSecure) report.add(at('http2'), 'needs a base_url with https://')
    else if (http2 && proxyOf(baseUrl, { proxy }, proxies) !== undefined) {
      report.add(at('http2'), 'does not go through a proxy: set `proxy: none`, or leave http2 out')
    }
    if (tls === undefined) continue
    if (!isSecure) report.add(at('tls'), 'needs a base_url with https://', { part: 'name' })
    else if ((tls.cert === undefined) !== (tls.key === undefined))
      report.add(at('tls'), 'needs cert and key together', { part: 'name' })
    else checkTls(id, tls, secrets, report)
  }
}

/**
 * Reports what OpenSSL cannot use, such as the key of another certificate. Unreadable secrets are already
 * reported.
 */
function checkTls (
  id: string,
  tls: NonNullable<Config['providers'][string]['tls']>,
  secrets: ReadonlyMap<string, Secret>,
  report: Report
): void {
  const found = Object.entries(tls).map(
    ([name, reference]) => [name, secrets.get(reference)?.reveal()] as const
  )
  if (found.some(([, text]) => text === undefined)) return
  const problem = tlsProblem(Object.fromEntries(found))
  if (problem !== undefined) report.add(['providers', id, 'tls', problem.part], problem.message)
}
