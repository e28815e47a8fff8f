/** Finds the parties that alerts watch: those with spending budgets, and keys that expire. */

import type { Kysely } from 'kysely'
import { defaultProject, type PartyLimits } from '../core/key.ts'
import type { Tables } from '../stores/tables.ts'
import type { Party, PartyKind } from '../limits/call-accounts.ts'
import { parseLimits, type ListedKey } from './key-rows.ts'

/** Ids per statement, which databases limit. */
const maxListed = 500

export interface WatchedParty extends Party {
  readonly kind: Exclude<PartyKind, 'end_user'>
  readonly name: string
}

/**
 * Returns the parties with limits among some keys, their projects and their owners.
 *
 * @param configured the keys of the configuration
 * @param defaultLimits for keys without limits
 */
export async function limitedAmong (
  query: Kysely<Tables>,
  ids: readonly string[],
  configured: readonly ListedKey[],
  defaultLimits: PartyLimits | undefined
): Promise<WatchedParty[]> {
  const active = new Set(ids)
  const rows = []
  for (let from = 0; from < ids.length; from += maxListed) {
    rows.push(...await query.selectFrom('keys').select(['id', 'name', 'limits', 'project_id', 'owner_id'])
      .where('id', 'in', ids.slice(from, from + maxListed)).execute())
  }
  const keys = [
    ...rows.map(({ id, name, limits }) => ({
      id,
      name,
      limits: limits === null ? undefined : parseLimits(limits)
    })),
    ...configured.filter(({ id }) => active.has(id))
  ].flatMap(({ id, name, limits = defaultLimits }): WatchedParty[] =>
    limits === undefined ? [] : [{ kind: 'key', id, name, limits }]
  )
  const projectIds = new Set([...rows.map(({ project_id: id }) => id), defaultProject])
  const projects = (await query.selectFrom('projects').select(['id', 'name', 'limits'])
    .where('limits', 'is not', null).where('archived_at_ms', 'is', null).execute())
    .filter(({ id }) => projectIds.has(id))
  const ownerIds = new Set(rows.map(({ owner_id: id }) => id))
  const members = (await query.selectFrom('users').select(['id', 'name', 'limits'])
    .where('limits', 'is not', null).execute()).filter(({ id }) => ownerIds.has(id))
  return [
    ...keys,
    ...members.flatMap(({ id, name, limits }): WatchedParty[] =>
      limits === null ? [] : [{ kind: 'member', id, name, limits: parseLimits(limits) }]),
    ...projects.flatMap(({ id, name, limits }): WatchedParty[] =>
      limits === null ? [] : [{ kind: 'project', id, name, limits: parseLimits(limits) }])
  ]
}

export interface ExpiringKey {
  readonly id: string
  readonly name: string
  readonly expiresAtMs: number
}

/** Returns the keys that are valid at one moment and expire before another. */
export async function expiringKeys (
  query: Kysely<Tables>,
  configured: readonly ListedKey[],
  nowMs: number,
  untilMs: number
): Promise<ExpiringKey[]> {
  const rows = await query.selectFrom('keys').select(['id', 'name', 'expires_at_ms as expiresAtMs'])
    .where('expires_at_ms', '>', nowMs).where('expires_at_ms', '<=', untilMs)
    .where('revoked_at_ms', 'is', null).where('temporary', 'is', null).execute()
  return [...rows, ...configured].flatMap(({ id, name, expiresAtMs }) => (
    typeof expiresAtMs === 'number' && expiresAtMs > nowMs && expiresAtMs <= untilMs
      ? [{ id, name, expiresAtMs }]
      : []
  ))
}

/** Returns the names of projects by their ids. */
export async function projectNames (
  query: Kysely<Tables>,
  ids: readonly string[]
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await query.selectFrom('projects').select(['id', 'name']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}
