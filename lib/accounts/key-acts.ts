/** Creates and revokes keys of callers, with an entry in the audit log: for the admin API and the command line alike. */

import type { Key, NewKey } from '../../schemas/admin/keys.ts'
import type { CreatedKey } from '../keys/stored-keys.ts'
import type { Admin } from './admin.ts'
import type { Actor } from './audit-log.ts'

/**
 * Creates a key.
 *
 * @param options.byAdmin true when members may not change the limits it gets; default true
 * @param options.temporary true for one that lists leave out
 * @throws GatewayError `conflict` when an active key has the name
 */
export async function createKey (
  { keys, accounts }: Admin, actor: Actor, wanted: NewKey, { byAdmin = true, temporary = false } = {}
): Promise<CreatedKey> {
  const created = await keys.create(wanted, actor.name, { byAdmin, temporary })
  await accounts.audit.add(actor, { action: 'key.create', subject: created.key, after: keySettings(created.key) })
  return created
}

export async function revokeKey ({ keys, accounts }: Admin, actor: Actor, id: string): Promise<Key> {
  const revoked = await keys.revoke(id)
  await accounts.audit.add(actor, { action: 'key.revoke', subject: revoked })
  return revoked
}

/** Returns what of a key the audit log shows. */
export function keySettings ({ name, project_id, endpoints, models, mcp_servers, mcp_urls, provider_objects, limits, expires_at_ms }: Key): object {
  return { name, project_id, endpoints, models, mcp_servers, mcp_urls, provider_objects, limits, expires_at_ms }
}
