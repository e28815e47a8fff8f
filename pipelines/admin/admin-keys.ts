/** Keys of the admin API. */

import { isAtLeast } from '../../lib/accounts/roles.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { pageRequest } from '../../lib/stores/pages.ts'
import { audit, notFound, param, principalOf } from './acts.ts'
import type { AdminHandlers } from './handler.ts'

export const adminKeyHandlers: AdminHandlers<
  'GET /admin/v1/admin-keys' | 'POST /admin/v1/admin-keys' | 'DELETE /admin/v1/admin-keys/:key_id'
> = {
  'GET /admin/v1/admin-keys': async ({ admin: { accounts }, search }) =>
    await accounts.adminKeys.list(pageRequest(search)),

  'POST /admin/v1/admin-keys': async call => {
    const principal = principalOf(call)
    const { name, role = principal.role, scopes = principal.scopes } = call.request
    if (!isAtLeast(principal.role, role)) {
      throw new GatewayError('insufficient_permissions', {
        param: 'role',
        message: 'You cannot assign a role higher than your own.'
      })
    }
    if (scopes?.some(scope => principal.scopes?.includes(scope) === false) === true) {
      throw new GatewayError('insufficient_permissions', {
        param: 'scopes',
        message: 'You cannot grant a scope that you do not have.'
      })
    }
    const expiresAtMs = earlier(call.request.expires_at_ms, principal.expiresAtMs)
    const created = await call.admin.accounts.adminKeys.create({
      name,
      role,
      scopes,
      expiresAtMs,
      createdBy: principal.name
    })
    await audit(call, {
      action: 'admin_key.create',
      subject: created.key,
      after: { name, role, scopes, expires_at_ms: expiresAtMs }
    })
    return created
  },

  'DELETE /admin/v1/admin-keys/:key_id': async call => {
    const id = param(call, 'key_id')
    const { adminKeys } = call.admin.accounts
    const key = await adminKeys.find(id)
    if (key === undefined) throw notFound('key_id', 'admin key')
    if (!isAtLeast(principalOf(call).role, key.role)) {
      throw new GatewayError('insufficient_permissions', { message: 'The key has a higher role than you.' })
    }
    await adminKeys.revoke(id)
    await audit(call, { action: 'admin_key.revoke', subject: key })
    return { id, deleted: true }
  }
}

/**
 * Returns when a key created by another admin key expires: no later than that key, whose copies would
 * otherwise never expire.
 */
function earlier (wanted: number | undefined, own: number | undefined): number | undefined {
  return wanted === undefined || own === undefined ? wanted ?? own : Math.min(wanted, own)
}
