/** Sign-in by password, one-time link or invitation. */

import type { Act } from '../../lib/accounts/audit-log.ts'
import { checkPassword, hashPassword, verifyPassword } from '../../lib/accounts/passwords.ts'
import { networkOf } from '../../lib/accounts/throttle.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import type { AdminCall } from '../../lib/stages/admin-auth.ts'
import type { Services } from '../../lib/services.ts'
import type { UserRow } from '../../lib/stores/tables.ts'
import { notFound } from './acts.ts'
import type { AdminHandlers, AdminReply } from './handler.ts'
import { beginSession } from './session.ts'

export const signInHandlers: AdminHandlers<
  | 'GET /admin/v1/sign-in'
  | 'POST /admin/v1/sign-in/password'
  | 'POST /admin/v1/sign-in/link'
  | 'POST /admin/v1/invitation'
  | 'POST /admin/v1/sign-in/invitation'
> = {
  'GET /admin/v1/sign-in': async (
    {
      admin: {
        accounts: { users, passkeys }
      }
    },
    {
      settings: {
        accounts: { oidc }
      }
    }
  ) => {
    const [password, passkey] = [await users.havePasswords(), await passkeys.exist()]
    return {
      password,
      passkey,
      oidc: oidc === undefined ? null : { name: oidc.name, url: '/admin/v1/sign-in/oidc' },
      first_start: !password && !passkey && oidc === undefined
    }
  },

  'POST /admin/v1/sign-in/password': async (call, services) => {
    const {
      admin: {
        accounts: { throttle, users }
      },
      origin: { address },
      request: { email, password }
    } = call
    const name = email.trim().toLowerCase()
    throttle.begin(address, name)
    const user = await users.findByEmail(name)
    const isRight = await verifyPassword(password, user?.password ?? undefined, networkOf(address))
    if (user === undefined || !isRight || user.disabled_at_ms !== null) {
      noteFailure(call, 'password', user)
      throw new GatewayError('invalid_credentials')
    }
    throttle.succeeded(address, name)
    return await signIn(
      call,
      services,
      user,
      { action: 'session.sign_in', subject: user, after: { by: 'password' } },
      false
    )
  },

  'POST /admin/v1/sign-in/link': async (call, services) => {
    const { admin: { accounts: { links, users } }, request: { token } } = call
    const userId = await links.useSignIn(token)
    const user = userId === undefined ? undefined : await users.find(userId)
    if (user === undefined || user.disabled_at_ms !== null) {
      noteFailure(call, 'link', user)
      throw usedUp()
    }
    return await signIn(
      call,
      services,
      user,
      { action: 'session.sign_in', subject: user, after: { by: 'link' } },
      true
    )
  },

  'POST /admin/v1/invitation': async ({
    admin: {
      accounts: { links }
    },
    request: { token }
  }) => {
    const invitation = await links.findInvitation(token)
    if (invitation === undefined) throw notFound('token', 'invitation, or it has expired')
    const { email, role, invited_by, expires_at_ms } = invitation
    return { email, role, invited_by, expires_at_ms }
  },

  'POST /admin/v1/sign-in/invitation': async (call, services) => {
    const { admin: { accounts }, request } = call
    const { links, users } = accounts
    const open = await links.findInvitation(request.token)
    if (open === undefined) {
      noteFailure(call, 'invitation')
      throw usedUp()
    }
    const email = open.email ?? request.email
    const { name, password } = request
    if (password !== undefined && email === undefined) {
      throw new GatewayError('invalid_value', {
        param: 'email',
        message: 'A password needs an `email` to sign in with.'
      })
    }
    if (password !== undefined) checkPassword(password, [name, email ?? ''])
    const hash =
      password === undefined ? undefined : await hashPassword(password, networkOf(call.origin.address))
    if (email !== undefined && (await users.findByEmail(email)) !== undefined) {
      throw new GatewayError('conflict', { param: 'email', message: 'Another user has this email.' })
    }
    const accepted = await accounts.acceptInvitation(request.token, { name, email, password: hash })
    if (accepted === undefined) throw usedUp()
    const { user, invitation: { role, projects } } = accepted
    return await signIn(
      call,
      services,
      user,
      { action: 'invitation.accept', subject: user, after: { role, projects } },
      hash === undefined
    )
  }
}

/**
 * Starts a session, replaces the session of the request if it has one, and writes the sign-in to the audit
 * log.
 */
export async function signIn (
  call: AdminCall,
  services: Services,
  user: UserRow,
  act: Act,
  byLink: boolean
): Promise<AdminReply> {
  const reply = await beginSession(call, services, user, byLink)
  await call.admin.accounts.audit.add({ id: user.id, name: user.name, address: call.origin.address }, act)
  return reply
}

/**
 * Writes a failed sign-in to the audit log. A throttle limits entries for a known user, a quota all others.
 * The given name is not written, since it may be a password. Not awaited: the time of an answer must not
 * reveal whether the user exists.
 */
export function noteFailure (
  call: AdminCall,
  by: 'password' | 'link' | 'invitation' | 'passkey' | 'oidc',
  user?: UserRow
): void {
  const { admin: { accounts: { audit, failureQuota } }, origin: { address }, record } = call
  if (user === undefined && !failureQuota.take()) return
  audit
    .add(
      { id: null, name: 'stranger', address },
      { action: 'session.sign_in_failed', after: { by }, ...user !== undefined && { subject: user } }
    )
    .catch((error: unknown) => {
      record.end.cause = error
    })
}

/** Gives the same answer for a wrong, used or expired link. */
function usedUp (): GatewayError {
  return new GatewayError('invalid_credentials', {
    message: 'The link is not valid: it works once, and for a limited time.'
  })
}
