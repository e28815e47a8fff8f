/**
 * Users and invitations. Nobody can change a user of a higher role, or grant a role above their own. An admin
 * key with scopes can grant no more than they allow, so it cannot create users, whose sessions have no
 * scopes.
 */

import { dashboardLink } from '../../lib/dashboard/link.ts'
import { isAtLeast } from '../../lib/accounts/roles.ts'
import { normalEmail, publicPart } from '../../lib/accounts/users.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import type { AdminCall } from '../../lib/stages/admin-auth.ts'
import type { UserRow } from '../../lib/stores/tables.ts'
import { pageRequest } from '../../lib/stores/pages.ts'
import type { Role } from '../../schemas/admin/common.ts'
import { audit, checkUnscoped, notFound, param, principalOf, visibleProject } from './acts.ts'
import type { AdminHandlers } from './handler.ts'

export const userHandlers: AdminHandlers<
  | 'GET /admin/v1/users'
  | 'GET /admin/v1/users/:user_id'
  | 'POST /admin/v1/users/:user_id'
  | 'DELETE /admin/v1/users/:user_id'
  | 'POST /admin/v1/users/:user_id/link'
  | 'GET /admin/v1/invitations'
  | 'POST /admin/v1/invitations'
  | 'DELETE /admin/v1/invitations/:invitation_id'
> = {
  'GET /admin/v1/users': async ({ admin: { accounts }, search }) =>
    await accounts.users.list(pageRequest(search)),

  'GET /admin/v1/users/:user_id': async call =>
    await call.admin.accounts.users.describe(await requireUser(call)),

  'POST /admin/v1/users/:user_id': async call => {
    const { admin: { accounts }, request: { name, email, role, disabled, limits } } = call
    const user = await changeableUser(call)
    const isNewEmail = email !== undefined && normalEmail(email) !== user.email
    if (role !== undefined) checkGivenRole(call, role)
    if (role !== undefined && !isAtLeast(user.role, role)) checkUnscoped(call, 'raise roles')
    if (isNewEmail) checkUnscoped(call, 'change emails')
    if (disabled === false && user.disabled_at_ms !== null) checkUnscoped(call, 'enable users')
    const before = await accounts.users.describe(user)
    const by = principalOf(call)
    const changes = {
      name,
      role,
      disabled,
      limits,
      ...isNewEmail && { email, emailByOther: user.id !== by.id }
    }
    const changed = await accounts.changeUser(user, changes, by)
    if (changed === undefined) throw notFound('user_id', 'user')
    const after = await accounts.users.describe(changed)
    await audit(call, { action: 'user.update', subject: user, before, after })
    return after
  },

  'DELETE /admin/v1/users/:user_id': async call => {
    const user = await changeableUser(call)
    if (!await call.admin.accounts.removeUser(user, principalOf(call))) throw notFound('user_id', 'user')
    await audit(call, { action: 'user.delete', subject: user, before: publicPart(user) })
    return { id: user.id, deleted: true }
  },

  'POST /admin/v1/users/:user_id/link': async call => {
    checkUnscoped(call, 'create sign-in links')
    const user = await changeableUser(call)
    const { accounts } = call.admin
    const { token, expiresAtMs } = await accounts.createSignInLink(user.id, principalOf(call))
    try {
      await changeableUser(call)
    } catch (error) {
      // A concurrent promotion has ended only the links that existed before this one.
      await accounts.links.endSignIn(user.id)
      throw error
    }
    await audit(call, { action: 'link.create', subject: user })
    return { url: dashboardLink(call.origin.url, token), expires_at_ms: expiresAtMs }
  },

  'GET /admin/v1/invitations': async ({ admin: { accounts }, search }) =>
    await accounts.links.listInvitations(pageRequest(search)),

  'POST /admin/v1/invitations': async call => {
    checkUnscoped(call, 'invite people')
    const { accounts } = call.admin
    const { role, email, projects = [] } = call.request
    checkGivenRole(call, role)
    for (const id of projects) await visibleProject(call, id)
    if (email !== undefined && (await accounts.users.findByEmail(email)) !== undefined) {
      throw new GatewayError('conflict', { param: 'email', message: 'Another user has this email.' })
    }
    const { token, invitation } = await accounts.invite({ role, email, projects }, principalOf(call))
    await audit(call, {
      action: 'invitation.create',
      subject: { id: invitation.id, name: email },
      after: { role, email, projects }
    })
    return { invitation, url: `${call.origin.url}/dashboard/#/invitation/${token}` }
  },

  'DELETE /admin/v1/invitations/:invitation_id': async call => {
    const id = param(call, 'invitation_id')
    const taken = await call.admin.accounts.links.takeInvitation({ id })
    if (taken === undefined) throw notFound('invitation_id', 'invitation')
    await audit(call, {
      action: 'invitation.delete',
      subject: { id, name: taken.email ?? undefined },
      before: { role: taken.role, projects: taken.projects }
    })
    return { id, deleted: true }
  }
}

async function requireUser (call: AdminCall): Promise<UserRow> {
  const user = await call.admin.accounts.users.find(param(call, 'user_id'))
  if (user === undefined) throw notFound('user_id', 'user')
  return user
}

/** @throws GatewayError `insufficient_permissions` for a user of a higher role */
async function changeableUser (call: AdminCall): Promise<UserRow> {
  const user = await requireUser(call)
  if (!isAtLeast(principalOf(call).role, user.role)) {
    throw new GatewayError('insufficient_permissions', { message: 'The user has a higher role than you.' })
  }
  return user
}

/** @throws GatewayError `insufficient_permissions` for a role above the caller's own */
function checkGivenRole (call: AdminCall, role: Role): void {
  if (!isAtLeast(principalOf(call).role, role)) {
    throw new GatewayError('insufficient_permissions', {
      param: 'role',
      message: 'You cannot assign a role higher than your own.'
    })
  }
}
