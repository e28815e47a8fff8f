/** Reads keys out of the rows of the store. */

import { defaultProject, isExpired, type ApiKey, type PartyLimits } from '../core/key.ts'
import { commonModels } from '../models/scope.ts'
import type { KeyRow, ProjectRow, UserRow } from '../stores/tables.ts'

/** A key with a digest that identifies it. */
export interface KeyEntry {
  readonly key: ApiKey
  readonly digest: Buffer
  /** The time until which the digest is accepted: a key may expire, and a digest may have been replaced. */
  readonly untilMs: number
}

/** Describes a key for the operator's list. */
export interface ListedKey extends ApiKey {
  readonly source: 'configuration' | 'store'
  readonly status: 'active' | 'expired' | 'revoked'
  readonly createdAtMs?: number
  readonly revokedAtMs?: number
}

/**
 * Returns the entries of a row: one for its digest and, after a rotation, one for the previous digest; none
 * for a key of an archived project.
 */
export function entriesOfRow (
  row: KeyRow,
  project: ProjectRow | undefined,
  owner?: LimitedUser
): Array<readonly [digest: string, entry: KeyEntry]> {
  // Such a key was created while its project was being archived: earlier ones are revoked.
  if (typeof project?.archived_at_ms === 'number') return []
  const key = ownedBy(inProject(fromRow(row), project), owner)
  const { expiresAtMs = Infinity } = key
  const entry = (digest: string, untilMs: number): readonly [string, KeyEntry] => [
    digest,
    { key, digest: Buffer.from(digest, 'base64'), untilMs: Math.min(untilMs, expiresAtMs) }
  ]
  const { digest, previous_digest: previous, previous_until_ms: untilMs } = row
  return [entry(digest, Infinity), ...previous === null || untilMs === null ? [] : [entry(previous, untilMs)]]
}

/** The parts of a user that their keys depend on. */
export type LimitedUser = Pick<UserRow, 'id' | 'name' | 'limits'>

/** Adds the owner to a key that counts toward the owner's limits. */
function ownedBy (key: ApiKey, owner: LimitedUser | undefined): ApiKey {
  if (typeof owner?.limits !== 'string') return key
  return { ...key, member: { id: owner.id, name: owner.name, limits: parseLimits(owner.limits) } }
}

/** Adds its project to a key, and restricts the key to the project's rights. */
function inProject (key: ApiKey, project: ProjectRow | undefined): ApiKey {
  if (project === undefined) return key
  const { id, name, models: allowed, limits } = project
  const guards = allGuards(key.guards, guardsOf(project))
  const models = allowed === null ? key.models : commonModels(key.models, parseList(allowed))
  return {
    ...key,
    ...models !== undefined && { models },
    ...guards !== undefined && { guards },
    ...(id !== defaultProject || limits !== null) && {
      project: { id, name, ...limits !== null && { limits: parseLimits(limits) } }
    }
  }
}

export function guardsOf ({ stages }: ProjectRow): readonly string[] | undefined {
  return stages === null ? undefined : parseList(stages)
}

/** Returns the names of two lists without duplicates. */
export function allGuards (
  own: readonly string[] | undefined,
  others: readonly string[] | undefined
): readonly string[] | undefined {
  return own === undefined || others === undefined ? own ?? others : [...new Set([...own, ...others])]
}

/** Reads limits that this program or the admin API has written. */
export function parseLimits (text: string): PartyLimits {
  return JSON.parse(text) as PartyLimits // written by this program
}

/** Returns the key of a row, without its project. */
export function fromRow (row: KeyRow): ApiKey {
  const {
    id,
    name,
    endpoints,
    models,
    mcp_servers: mcpServers,
    mcp_urls: mcpUrls,
    provider_objects: objects,
    stages,
    limits,
    expires_at_ms: expiresAtMs
  } = row
  return {
    id,
    name,
    ...endpoints !== null && { endpoints: parseList(endpoints) },
    ...models !== null && { models: parseList(models) },
    ...mcpServers !== null && { mcpServers: parseList(mcpServers) },
    ...mcpUrls !== null && { mcpUrls: mcpUrls === 1 },
    ...objects === 1 && { providerObjects: true },
    ...stages !== null && { guards: parseList(stages) },
    ...limits !== null && { limits: parseLimits(limits) },
    ...expiresAtMs !== null && { expiresAtMs }
  }
}

/** Returns a row as lists show it. */
export function listedKey (row: KeyRow): ListedKey {
  const key = fromRow(row)
  const { created_at_ms: createdAtMs, revoked_at_ms: revokedAtMs } = row
  const status = revokedAtMs !== null ? 'revoked' : isExpired(key) ? 'expired' : 'active'
  return { ...key, source: 'store', status, createdAtMs, ...revokedAtMs !== null && { revokedAtMs } }
}

/** @throws SyntaxError for a text that this store did not write; a scope is never guessed */
function parseList (text: string): readonly string[] {
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list)) throw new SyntaxError('a scope in the store is not a list')
  return list.map(String)
}
