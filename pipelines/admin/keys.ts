/** Keys of callers. Members create and change those of their projects. */

import { randomBytes } from 'node:crypto'
import { createKey, revokeKey, rotateKey, updateKey } from '../../lib/accounts/key-actions.ts'
import { isAtLeast, maySee } from '../../lib/accounts/roles.ts'
import { defaultProject } from '../../lib/core/key.ts'
import type { Settings } from '../../lib/core/settings.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { changedFields, protectedField } from '../../lib/keys/limiting-fields.ts'
import { endpointNames } from '../../schemas/endpoints.ts'
import { pageRequest } from '../../lib/stores/pages.ts'
import type { AdminCall } from '../../lib/stages/admin-auth.ts'
import type { Key, KeyChange } from '../../schemas/admin/keys.ts'
import { actorOf, checkGuardNames, notFound, param, principalOf, visibleProject } from './acts.ts'
import { itemsOf, visibleProjects } from './call-filter.ts'
import type { AdminHandlers } from './handler.ts'

const playgroundMs = 60 * 60_000

export const keyHandlers: AdminHandlers<
  | 'GET /admin/v1/keys'
  | 'POST /admin/v1/keys'
  | 'GET /admin/v1/keys/:key_id'
  | 'POST /admin/v1/keys/:key_id'
  | 'POST /admin/v1/keys/:key_id/rotate'
  | 'DELETE /admin/v1/keys/:key_id'
  | 'POST /admin/v1/playground/key'
> = {
  'GET /admin/v1/keys': async call => {
    const { search } = call
    const status = search.get('status') ?? undefined
    if (status !== undefined && status !== 'active' && status !== 'expired' && status !== 'revoked') {
      throw new GatewayError('invalid_value', {
        param: 'status',
        message: '`status` must be `active`, `expired` or `revoked`.'
      })
    }
    const projects = visibleProjects(call, itemsOf(search, 'project'))
    return await call.admin.keys.list(
      { projects: projects && new Set(projects), status, search: search.get('search') ?? undefined },
      pageRequest(search)
    )
  },

  'POST /admin/v1/keys': async (call, { settings }) => {
    const { request } = call
    checkScope(call, request)
    checkLimits(call, request, settings)
    checkOwner(call, request.owner_id, principalOf(call).id)
    checkGuardNames(request.stages, settings)
    await usableProject(call, request.project_id ?? defaultProject)
    takeQuota(call)
    return await createKey(call.admin, actorOf(call), request, { byAdmin: isAdmin(call) })
  },

  'GET /admin/v1/keys/:key_id': async call => await visibleKey(call),

  'POST /admin/v1/keys/:key_id': async (call, { settings }) => {
    checkScope(call, call.request)
    checkGuardNames(call.request.stages, settings)
    const before = await changeableKey(call)
    checkOwner(call, call.request.owner_id, before.owner_id)
    if (changedFields(before, call.request).includes('limits')) checkLimits(call, call.request, settings)
    if (call.request.provider_objects !== false) checkObjectRights(call, before)
    if (!isAdmin(call)) checkUnprotected(before, call.request)
    return await updateKey(call.admin, actorOf(call), before, call.request, isAdmin(call))
  },

  'POST /admin/v1/keys/:key_id/rotate': async call => {
    const key = await changeableKey(call)
    checkObjectRights(call, key)
    checkOwned(call, key)
    const { overlap_ms: overlapMs = 0 } = call.request
    return await rotateKey(call.admin, actorOf(call), key, overlapMs)
  },

  'DELETE /admin/v1/keys/:key_id': async call => {
    const key = await visibleKey(call)
    if (key.status === 'revoked') return key
    const { id } = await changeableKey(call)
    return await revokeKey(call.admin, actorOf(call), id)
  },

  'POST /admin/v1/playground/key': async call => {
    const { id: projectId } = await usableProject(call, call.request.project_id)
    const { name, role } = principalOf(call)
    if (role === 'viewer') {
      throw new GatewayError('insufficient_permissions', { message: 'This requires the role `member`.' })
    }
    takeQuota(call)
    const expiresAtMs = Date.now() + playgroundMs
    const { key, secret } = await createKey(
      call.admin,
      actorOf(call),
      {
        name: `Playground of ${name.slice(0, 60)}, ${randomBytes(4).toString('hex')}`,
        project_id: projectId,
        expires_at_ms: expiresAtMs
      },
      { byAdmin: isAdmin(call), temporary: true }
    )
    return { key_id: key.id, secret, expires_at_ms: expiresAtMs }
  }
}

/**
 * @throws GatewayError `invalid_value` for unknown endpoints or an expiry in the past;
 *   `insufficient_permissions` for members who would give access to the objects that all keys share at
 *   providers
 */
function checkScope (
  call: AdminCall,
  scope: Pick<KeyChange, 'endpoints' | 'provider_objects' | 'expires_at_ms'>
): void {
  checkObjectRights(call, scope)
  const { endpoints, expires_at_ms: expiresAtMs } = scope
  const unknown = endpoints?.find(name => !endpointNames.includes(name))
  if (unknown !== undefined) {
    throw new GatewayError('invalid_value', {
      param: 'endpoints',
      message: `There is no endpoint \`${unknown}\`.`
    })
  }
  if (typeof expiresAtMs === 'number' && expiresAtMs <= Date.now()) {
    throw new GatewayError('invalid_value', {
      param: 'expires_at_ms',
      message: '`expires_at_ms` is in the past.'
    })
  }
}

/**
 * @throws GatewayError `insufficient_permissions` for members who would get, or extend, a key with access to
 *   the objects that all keys share at providers
 */
function checkObjectRights (
  call: AdminCall,
  { provider_objects: objects = false }: Pick<KeyChange, 'provider_objects'>
): void {
  if (objects && !isAdmin(call)) {
    throw new GatewayError('insufficient_permissions', {
      param: 'provider_objects',
      message: 'A key with `provider_objects` needs the role `admin`.'
    })
  }
}

/**
 * @throws GatewayError `insufficient_permissions` for members who would replace the configured default limits
 *   of a key
 */
function checkLimits (
  call: AdminCall,
  { limits }: Pick<KeyChange, 'limits'>,
  { limits: { defaultKeyLimits } }: Pick<Settings, 'limits'>
): void {
  if (limits == null || defaultKeyLimits === undefined || isAdmin(call)) return
  throw new GatewayError('insufficient_permissions', {
    param: 'limits',
    message:
      'Limits of a key replace `limits.default_key_limits` of the configuration: ask an admin to set them.'
  })
}

/**
 * @param allowedId the owner that members may name: themselves for a new key, otherwise its current owner
 * @throws GatewayError `insufficient_permissions` for members who would make a key count toward the limits of
 *   somebody else
 */
function checkOwner (
  call: AdminCall,
  ownerId: string | null | undefined,
  allowedId: string | null
): void {
  if (ownerId !== undefined && ownerId !== allowedId && !isAdmin(call)) {
    throw new GatewayError('insufficient_permissions', {
      param: 'owner_id',
      message: 'Giving a key to another owner needs the role `admin`.'
    })
  }
}

/**
 * @throws GatewayError `insufficient_permissions` for members who would get the text of a key that counts
 *   toward the limits of somebody else
 */
function checkOwned (call: AdminCall, { owner_id: ownerId }: Key): void {
  if (ownerId === null || ownerId === principalOf(call).id || isAdmin(call)) return
  throw new GatewayError('insufficient_permissions', {
    message: 'Only the owner of a key or an admin can rotate it. Create a key of your own.'
  })
}

/** @throws GatewayError `insufficient_permissions` for a field that an admin has set */
function checkUnprotected (key: Key, change: KeyChange): void {
  const param = protectedField(key, change)
  if (param !== undefined) {
    throw new GatewayError('insufficient_permissions', {
      param,
      message: `\`${param}\` of this key was set by an admin, so only an admin can change it.`
    })
  }
}

/** Counts a key created by a person. Programs with an admin key have no quota. */
function takeQuota (call: AdminCall): void {
  const { id, session } = principalOf(call)
  if (session !== undefined) call.admin.accounts.keyQuota.take(id)
}

function isAdmin (call: AdminCall): boolean {
  return isAtLeast(principalOf(call).role, 'admin')
}

/** @throws GatewayError `conflict` for an archived project; otherwise as `visibleProject` does */
async function usableProject (call: AdminCall, id: string): ReturnType<typeof visibleProject> {
  const project = await visibleProject(call, id)
  if (project.archived_at_ms !== null) {
    throw new GatewayError('conflict', { param: 'project_id', message: 'The project is archived.' })
  }
  return project
}

/** @throws GatewayError `not_found` for a key that does not exist or whose project the caller may not see */
async function visibleKey (call: AdminCall): Promise<Key> {
  const key = await call.admin.keys.require(param(call, 'key_id'))
  if (!maySee(principalOf(call), key.project_id)) throw notFound('key_id', 'key')
  return key
}

/** @throws GatewayError `conflict` for a key of the configuration and a revoked one */
async function changeableKey (call: AdminCall): Promise<Key> {
  const key = await visibleKey(call)
  if (key.source === 'configuration') {
    throw new GatewayError('conflict', {
      message: 'The key is defined in the configuration: change it there.'
    })
  }
  if (key.status === 'revoked') throw new GatewayError('conflict', { message: 'The key is revoked.' })
  return key
}
