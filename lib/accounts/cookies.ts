/**
 * Cookies of the dashboard: one for the session, one for a sign-in in progress at a device or an identity
 * provider.
 */

import type { Call } from '../core/call.ts'

export type CookieKind = 'session' | 'sign_in'

/** With this prefix, browsers accept a cookie only over TLS and only from this host. */
const names = {
  session: { plain: 'headgate_session', secure: '__Host-headgate' },
  sign_in: { plain: 'headgate_sign_in', secure: '__Host-headgate-sign-in' }
} as const

export interface NewCookie {
  readonly kind: CookieKind
  /** Empty to remove it. */
  readonly value: string
  readonly secure: boolean
  readonly maxAgeSeconds: number
}

export function cookieName (kind: CookieKind, secure: boolean): string {
  return names[kind][secure ? 'secure' : 'plain']
}

/**
 * Prints a `Set-Cookie`. Without TLS the cookie is sent to the admin API only; the prefix used with TLS
 * requires the path `/`.
 */
export function printCookie ({ kind, value, secure, maxAgeSeconds }: NewCookie): string {
  return `${cookieName(kind, secure)}=${value}; ${secure ? 'Path=/; Secure' : 'Path=/admin'}; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}`
}

/** Returns a cookie of a request, which anyone may have set. */
export function readCookie (
  { cookie }: Call['headers'],
  kind: CookieKind,
  secure: boolean
): string | undefined {
  const start = `${cookieName(kind, secure)}=`
  return cookie
    ?.toString()
    .split(';')
    .map(pair => pair.trim())
    .find(pair => pair.startsWith(start))
    ?.slice(start.length)
}
