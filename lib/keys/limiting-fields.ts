/** The fields of a key that limit it. Members may not change a limit that an admin has set. */

import { isDeepStrictEqual } from 'node:util'
import type { Key, KeyChange } from '../../schemas/admin/keys.ts'
import { mayNameUrls } from '../mcp/tool-scope.ts'
import { fromPartyLimits, toPartyLimits } from './party-limits.ts'

const limitingFields = [
  'endpoints',
  'models',
  'mcp_servers',
  'mcp_urls',
  'stages',
  'limits',
  'expires_at_ms'
] as const
export type LimitingField = (typeof limitingFields)[number]

/** Returns the fields that members may not change in a key that an admin creates. */
export function setFields (wanted: KeyChange): LimitingField[] {
  return fieldsWhere(name => wanted[name] !== undefined && wanted[name] !== null)
}

/**
 * Returns the fields that members may not change after an admin has changed a key; `null` releases a field.
 */
export function setFieldsAfter (key: Key, change: KeyChange): LimitingField[] {
  const changed = changedFields(key, change)
  return fieldsWhere(name => changed.includes(name) ? change[name] !== null : key.set_by_admin.includes(name))
}

/** Returns the limiting fields of a key of an earlier version, for which it is unknown who set them. */
export function setFieldsOfRow (row: Readonly<Record<LimitingField, unknown>>): LimitingField[] {
  return fieldsWhere(name => row[name] !== null)
}

/** Returns the first admin-set field to which a change gives another value. */
export function protectedField (key: Key, change: KeyChange): LimitingField | undefined {
  return changedFields(key, change).find(name => key.set_by_admin.includes(name))
}

/** Returns the fields to which a change gives another value. */
export function changedFields (
  key: Key,
  { mcp_servers: servers = key.mcp_servers, mcp_urls: urls, limits, ...change }: KeyChange
): LimitingField[] {
  const wanted: KeyChange = {
    ...change,
    mcp_servers: servers,
    ...urls !== undefined && {
      mcp_urls: urls ?? mayNameUrls(servers === null ? {} : { mcpServers: servers })
    },
    ...limits !== undefined && { limits: limits && fromPartyLimits(toPartyLimits(limits)) }
  }
  return limitingFields.filter(
    name => wanted[name] !== undefined && !isDeepStrictEqual(wanted[name], key[name])
  )
}

/**
 * Unless the key says otherwise, its servers decide whether it may name servers by URL, so both fields are
 * protected together.
 */
function fieldsWhere (isSet: (name: LimitingField) => boolean): LimitingField[] {
  return limitingFields.filter(name => isSet(name) || (name === 'mcp_urls' && isSet('mcp_servers')))
}
