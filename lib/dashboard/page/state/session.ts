/** The session: the signed-in user, and their permissions. */

import { signal } from '@preact/signals'
import { api, ApiError, keepToken, whenSignedOut, type Answer } from '../api/client.ts'
import type { Role } from '../../../../schemas/admin/common.ts'

export type Session = Answer<'GET /admin/v1/session'>
export type NewSession = Answer<'POST /admin/v1/sign-in/password'>

/** `undefined` until it is known, `null` if nobody is signed in. */
export const session = signal<Session | null | undefined>(undefined)

export const sessionError = signal<ApiError | undefined>(undefined)

const signingIn = 'signing_in'

/** Records that this tab goes to a provider of OpenID Connect to sign in. */
export function leaveToSignIn (): void {
  sessionStorage.setItem(signingIn, '1')
}

export async function loadSession (): Promise<void> {
  sessionError.value = undefined
  takeToken()
  try {
    enter(await api('GET /admin/v1/session'))
  } catch (error) {
    const failure = ApiError.of(error)
    if (failure.status === 401) session.value = null
    else sessionError.value = failure
  }
}

/**
 * Takes the token of a provider's sign-in from the address. The token of a sign-in that this tab did not
 * start is somebody else's.
 */
function takeToken (): void {
  const began = sessionStorage.getItem(signingIn) !== null
  sessionStorage.removeItem(signingIn)
  const token = /^#\/signed-in\/([\w-]+)$/.exec(location.hash)?.[1]
  if (token === undefined) return
  history.replaceState(null, '', location.pathname + location.search)
  if (began) keepToken(token)
}

/** The last user of this page. */
let lastUser: string | undefined

let onSignOut = async (): Promise<void> => {}

/** Sets what ends before the session does. */
export function beforeSignOut (listener: () => Promise<void>): void {
  onSignOut = listener
}

/**
 * Shows the page to its user. For another user than before it restarts: keys and conversations in memory are
 * not theirs.
 */
export function enter (next: Session): void {
  if (lastUser !== undefined && lastUser !== next.user.id) return location.reload()
  lastUser = next.user.id
  session.value = next
}

/** Shows the page to a user who has just signed in. */
export function begin ({ csrf_token: token, ...next }: NewSession): void {
  keepToken(token)
  enter(next)
}

/** Ends the session, and forgets everything the page has in memory. */
export async function signOut (): Promise<void> {
  await onSignOut()
  await api('DELETE /admin/v1/session')
  keepToken(undefined)
  location.reload()
}

/** Returns the session, on pages that require one. */
export function currentSession (): Session {
  if (session.value === null || session.value === undefined) throw new Error('there is no session')
  return session.value
}

const ranks: readonly Role[] = ['viewer', 'member', 'admin', 'owner']

/** Returns whether the user has this role or a higher one. */
export function may (role: Role): boolean {
  const own = session.value?.user.role
  return own !== undefined && ranks.indexOf(own) >= ranks.indexOf(role)
}

whenSignedOut(() => { session.value = null })
