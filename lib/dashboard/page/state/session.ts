/** The session: the user who is signed in, and what that allows. */

import { signal } from '@preact/signals'
import { api, ApiError, setCsrfToken, whenSignedOut, type Answer } from '../api/client.ts'
import type { Role } from '../../../../schemas/admin/common.ts'

export type Session = Answer<'GET /admin/v1/session'>

/** `undefined` until it is known, `null` without a sign-in. */
export const session = signal<Session | null | undefined>(undefined)

export const sessionError = signal<ApiError | undefined>(undefined)

export async function loadSession (): Promise<void> {
  sessionError.value = undefined
  try {
    enter(await api('GET /admin/v1/session'))
  } catch (error) {
    const failure = ApiError.of(error)
    if (failure.status === 401) session.value = null
    else sessionError.value = failure
  }
}

/** The last user of this page. */
let lastUser: string | undefined

let onSignOut = async (): Promise<void> => {}

/** Sets what ends before the session does. */
export function beforeSignOut (listener: () => Promise<void>): void {
  onSignOut = listener
}

/** Shows the page to its user. For another one than before it begins anew: keys and conversations in memory are not theirs. */
export function enter (next: Session): void {
  if (lastUser !== undefined && lastUser !== next.user.id) return location.reload()
  lastUser = next.user.id
  setCsrfToken(next.csrf_token)
  session.value = next
}

/** Ends the session, and forgets all that the page has in memory. */
export async function signOut (): Promise<void> {
  await onSignOut()
  await api('DELETE /admin/v1/session')
  location.reload()
}

/** Returns the session, on pages that are shown only with one. */
export function currentSession (): Session {
  if (session.value === null || session.value === undefined) throw new Error('there is no session')
  return session.value
}

const ranks: readonly Role[] = ['viewer', 'member', 'admin', 'owner']

/** Returns whether the user has this role or a mightier one. */
export function may (role: Role): boolean {
  const own = session.value?.user.role
  return own !== undefined && ranks.indexOf(own) >= ranks.indexOf(role)
}

whenSignedOut(() => { session.value = null })
