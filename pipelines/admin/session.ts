/** The session of the signed-in user: the user, other sessions, the password, signing out. */

import { printCookie, readCookie } from '../../lib/accounts/cookies.ts'
import { checkPassword, hashPassword, verifyPassword } from '../../lib/accounts/passwords.ts'
import { publicPart } from '../../lib/accounts/users.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import type { AdminCall } from '../../lib/stages/admin-auth.ts'
import type { Services } from '../../lib/services.ts'
import type { UserRow } from '../../lib/stores/tables.ts'
import { version } from '../../lib/text/version.ts'
import type { NewSession, Session } from '../../schemas/admin/session.ts'
import { audit, notFound, param, principalOf } from './acts.ts'
import { mayEdit } from './configuration.ts'
import { AdminReply, type AdminHandlers } from './handler.ts'

export const sessionHandlers: AdminHandlers<
  | 'GET /admin/v1/session'
  | 'DELETE /admin/v1/session'
  | 'GET /admin/v1/sessions'
  | 'DELETE /admin/v1/sessions/:session_id'
  | 'POST /admin/v1/profile'
  | 'POST /admin/v1/profile/password'
> = {
  'GET /admin/v1/session': async (call, services) => await currentSession(call, services),

  'DELETE /admin/v1/session': async call => {
    const { id, session } = principalOf(call)
    await call.admin.accounts.sessions.end(id, session?.id ?? '')
    return new AdminReply({
      status: 200,
      headers: {
        'set-cookie': printCookie({
          kind: 'session',
          value: '',
          secure: call.origin.secure,
          maxAgeSeconds: 0
        })
      },
      body: JSON.stringify({ done: true })
    })
  },

  'GET /admin/v1/sessions': async call => {
    const { id, session } = principalOf(call)
    return {
      object: 'list',
      data: await call.admin.accounts.sessions.list(id, session?.id ?? ''),
      next_cursor: null
    }
  },

  'DELETE /admin/v1/sessions/:session_id': async call => {
    const id = param(call, 'session_id')
    const { id: userId } = principalOf(call)
    if (!await call.admin.accounts.endSession(userId, id)) throw notFound('session_id', 'session')
    await audit(call, { action: 'session.end', subject: { id } })
    return { id, deleted: true }
  },

  'POST /admin/v1/profile': async (call, services) => {
    const { users } = call.admin.accounts
    const before = await currentUser(call)
    const after = await users.update(before.id, call.request)
    await audit(call, {
      action: 'user.update',
      subject: before,
      before: publicPart(before),
      after: publicPart(after ?? before)
    })
    return await currentSession(call, services)
  },

  'POST /admin/v1/profile/password': async (call, services) => {
    const {
      admin: { accounts },
      credential,
      origin: { address },
      request: { current_password: current, new_password: next, email }
    } = call
    const user = await currentUser(call)
    if (user.password !== null && principalOf(call).session?.byLink !== true) {
      accounts.throttle.begin(address, user.id)
      if (!await verifyPassword(current ?? '', user.password, user.id)) {
        throw new GatewayError('invalid_credentials', {
          param: 'current_password',
          message: 'The current password is wrong.'
        })
      }
      accounts.throttle.succeeded(address, user.id)
    }
    const name = email ?? user.email
    if (name === null) {
      throw new GatewayError('invalid_value', {
        param: 'email',
        message: 'A password needs an `email` to sign in with.'
      })
    }
    checkPassword(next, [user.name, name])
    const password = await hashPassword(next, user.id)
    // The session may have ended while the hash was computed.
    if (await accounts.sessions.find(credential) === undefined) throw new GatewayError('invalid_api_key')
    const changed = await accounts.changeUser(user, { password, ...email !== undefined && { email } })
    await audit(call, {
      action: 'user.set_password',
      subject: user,
      before: publicPart(user),
      after: publicPart(changed ?? user)
    })
    return await beginSession(call, services, changed ?? user, false)
  }
}

/** Starts a session and returns it. */
export async function beginSession (
  call: AdminCall,
  services: Services,
  user: UserRow,
  byLink: boolean
): Promise<AdminReply> {
  const { cookie, csrfToken, expiresAtMs } = await createSession(call, user, byLink)
  const session: NewSession = {
    ...(await describeSession(call, services, user, expiresAtMs)),
    csrf_token: csrfToken
  }
  const body = JSON.stringify(session)
  return new AdminReply({ status: 200, headers: { 'set-cookie': cookie }, body })
}

interface BegunSession {
  /** A complete `Set-Cookie`. */
  readonly cookie: string
  readonly csrfToken: string
  readonly expiresAtMs: number
}

/**
 * Creates a session with a new cookie, replacing the session of the request.
 *
 * @param user the row against which they were authenticated
 * @throws GatewayError `invalid_credentials` if the row has changed since: whatever then ended the user's
 *   sessions could not include this one
 */
export async function createSession (call: AdminCall, user: UserRow, byLink: boolean): Promise<BegunSession> {
  const {
    admin: {
      accounts: { sessions, users }
    },
    origin: { address, secure },
    headers: { 'user-agent': agent }
  } = call
  const presented = readCookie(call.headers, 'session', secure)
  const before = presented === undefined ? undefined : await sessions.find(presented)
  if (before !== undefined) await sessions.end(before.user.id, before.session.id)
  const { token, csrfToken, row } = await sessions.create(
    user.id,
    { address, userAgent: typeof agent === 'string' ? agent : null },
    byLink
  )
  if (!hasSameRights(user, await users.find(user.id))) {
    await sessions.end(user.id, row.id)
    throw new GatewayError('invalid_credentials')
  }
  const maxAgeSeconds = Math.floor((row.expires_at_ms - row.created_at_ms) / 1000)
  return {
    cookie: printCookie({ kind: 'session', value: token, secure, maxAgeSeconds }),
    csrfToken,
    expiresAtMs: row.expires_at_ms
  }
}

function hasSameRights (before: UserRow, now: UserRow | undefined): boolean {
  return (
    now !== undefined &&
    now.disabled_at_ms === null &&
    now.password === before.password &&
    now.role === before.role
  )
}

/** Returns the signed-in user. */
export async function currentUser (call: AdminCall): Promise<UserRow> {
  const user = await call.admin.accounts.users.find(principalOf(call).id)
  if (user === undefined) throw new GatewayError('invalid_api_key')
  return user
}

async function currentSession (call: AdminCall, services: Services): Promise<Session> {
  const { session } = principalOf(call)
  if (session === undefined) throw new GatewayError('invalid_api_key')
  return await describeSession(call, services, await currentUser(call), session.expiresAtMs)
}

async function describeSession (
  { admin: { accounts, configuration }, origin }: AdminCall,
  { settings }: Services,
  user: UserRow,
  expiresAtMs: number
): Promise<Session> {
  const { id, name, email, role, password } = user
  const seen =
    role === 'owner' || role === 'admin'
      ? undefined
      : new Set((await accounts.users.projectsOf([id])).get(id))
  const [projects, passkeys] = [
    await accounts.projects.names(seen),
    await accounts.passkeys.list(id)
  ]
  return {
    user: { id, name, email, role },
    expires_at_ms: expiresAtMs,
    has_password: password !== null,
    passkeys: passkeys.length,
    needs_credential: !await accounts.users.haveCredential(id),
    projects,
    version,
    public_url: origin.url,
    features: {
      edit_config: configuration !== undefined && mayEdit(user, settings),
      keep_bodies: settings.calls.keepBodies.length > 0
    }
  }
}
