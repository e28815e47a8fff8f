/**
 * The one-time link in the address. Its token is in the fragment, which browsers do not send: `#/link/TOKEN`.
 */

import { signal } from '@preact/signals'

export interface Link { readonly kind: string, readonly token: string }

export const link = signal(readLink())

addEventListener('hashchange', () => { link.value = readLink() })

function readLink (): Link | undefined {
  const [, kind, token] = /^#\/(link|invitation)\/([\w.~-]+)$/.exec(location.hash) ?? []
  return kind === undefined || token === undefined ? undefined : { kind, token }
}

/** Removes the token from the address, so that no history contains it. */
export function forgetLink (): void {
  history.replaceState(null, '', location.pathname + location.search)
  link.value = undefined
}
