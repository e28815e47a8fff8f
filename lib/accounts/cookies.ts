/**
 * Cookies of the dashboard: one for the session, one for a sign-in that goes on at a device or at a provider
 * of identities.
 */

import type { Call } from '../core/call.ts'

export type CookieKind = 'session' | 'sign_in'

/** With the prefix a browser takes a cookie over TLS only, and from this host only. */
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
 * Prints a `Set-Cookie`. Without TLS it goes to the admin API only; the prefix of the other name asks for the
 * path `/`.
 */
export function printCookie ({ kind, value, secure, maxAgeSeconds }: NewCookie): string {
  return `${cookieName(kind, secure)}=${value}; ${secure ? 'Path=/; Secure' : 'Path=/admin'}; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}`
}

/** Returns a cookie of a request, which may be of anyone's making. */
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
