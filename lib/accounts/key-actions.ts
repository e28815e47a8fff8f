/**
 * Creates, changes and revokes keys of callers, with an entry in the audit log: for both the admin API and
 * the command line.
 */

import type { Key, KeyChange, NewKey } from '../../schemas/admin/keys.ts'
import type { CreatedKey } from '../keys/managed-keys.ts'
import type { Admin } from './admin.ts'
import type { Actor } from './audit-log.ts'

/**
 * Creates a key.
 *
 * @param options.byAdmin true if members may not change its limits; default true
 * @param options.temporary true for a key that lists omit
 * @throws GatewayError `conflict` when an active key has the name
 */
export async function createKey (
  { keys, accounts }: Admin, actor: Actor, wanted: NewKey, { byAdmin = true, temporary = false } = {}
): Promise<CreatedKey> {
  const created = await keys.create(wanted, actor, { byAdmin, temporary })
  await accounts.audit.add(actor, {
    action: 'key.create',
    subject: created.key,
    after: keySettings(created.key)
  })
  return created
}

/**
 * Changes fields of a key; fields missing from `change` stay.
 *
 * @param byAdmin true if members may not change them afterwards
 */
export async function updateKey (
  { keys, accounts }: Admin,
  actor: Actor,
  before: Key,
  change: KeyChange,
  byAdmin: boolean
): Promise<Key> {
  const after = await keys.update(before, change, byAdmin)
  await accounts.audit.add(actor, {
    action: 'key.update',
    subject: after,
    before: keySettings(before),
    after: keySettings(after)
  })
  return after
}

/**
 * Replaces a key's secret.
 *
 * @param overlapMs how long the previous text also works
 */
export async function rotateKey (
  { keys, accounts }: Admin,
  actor: Actor,
  key: Key,
  overlapMs: number
): Promise<CreatedKey> {
  const created = await keys.rotate(key, overlapMs)
  await accounts.audit.add(actor, {
    action: 'key.rotate',
    subject: created.key,
    after: { overlap_ms: overlapMs }
  })
  return created
}

export async function revokeKey ({ keys, accounts }: Admin, actor: Actor, id: string): Promise<Key> {
  const revoked = await keys.revoke(id)
  await accounts.audit.add(actor, { action: 'key.revoke', subject: revoked })
  return revoked
}

/** Returns the fields of a key that the audit log shows. */
function keySettings ({
  name,
  project_id,
  owner_id,
  endpoints,
  models,
  mcp_servers,
  mcp_urls,
  provider_objects,
  stages,
  limits,
  expires_at_ms
}: Key): object {
  return {
    name,
    project_id,
    owner_id,
    endpoints,
    models,
    mcp_servers,
    mcp_urls,
    provider_objects,
    stages,
    limits,
    expires_at_ms
  }
}
