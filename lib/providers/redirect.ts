/** Redirects of providers. None is followed, so that credentials cannot reach another host. */

import type { Failure } from './provider-failure.ts'
import type { UpstreamHead } from './provider.ts'

/** Statuses that send a client to another address. 304 does not. */
const statuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** Stands for the provider's host in an address that names none. */
const sameHost = 'http://provider.invalid'
const maxLength = 200

/**
 * Describes where a redirect leads: its host and its path, which is cut after 200 characters. User, query and
 * fragment may hold secrets and are left out.
 *
 * @returns `undefined` for any other response
 */
export function redirectTarget ({ status, headers }: UpstreamHead): string | undefined {
  if (!statuses.has(status)) return undefined
  const [location = ''] = [headers['location']].flat()
  if (location === '' || !URL.canParse(location, sameHost)) return 'another address'
  const { protocol, origin, pathname } = new URL(location, sameHost)
  if (!/^https?:$/.test(protocol)) return 'another address'
  return `\`${((origin === sameHost ? '' : origin) + pathname).slice(0, maxLength)}\``
}

/** Returns the sentence for callers and the log; `undefined` for a response that is no redirect. */
export function describeRedirect (head: UpstreamHead): string | undefined {
  const target = redirectTarget(head)
  return target && `The provider answered with a redirect (${head.status}) to ${target}: its \`base_url\` in the configuration probably has to be changed (see \`headgate doctor\`).`
}

/** Returns the failure of a request that was redirected; `undefined` for any other response. */
export function redirectFailure (head: UpstreamHead): Failure | undefined {
  const message = describeRedirect(head)
  return message === undefined ? undefined : { kind: 'redirect', message, cause: { status: head.status } }
}
