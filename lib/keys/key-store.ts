/**
 * Stores gateway keys: those of the configuration and those created with `headgate keys`.
 *
 * Only SHA-256 digests are stored, never the keys. All active digests are in memory (`loaded-keys`), so
 * `check` never waits; `key-poller` reads changes made by other processes.
 */

import { randomBytes } from 'node:crypto'
import type { ApiKey, PartyLimits } from '../core/key.ts'
import type { KeySettings } from '../core/settings.ts'
import type { Database } from '../stores/database.ts'
import type { KeyRow } from '../stores/tables.ts'
import { fromRow, listedKey, type ListedKey } from './key-rows.ts'
import { KeyPoller, type PollOptions } from './key-poller.ts'
import type { LimitingField } from './limiting-fields.ts'
import { digestOf, hintOf, newKeyText } from './key-text.ts'
import { jsonColumn } from '../stores/json-column.ts'
import type { Keys } from './keys.ts'

export interface NewKey {
  readonly name: string
  /** Names of the endpoints it may call; absent: all. */
  readonly endpoints?: readonly string[] | undefined
  /** Model ids or `provider/*` patterns it may use; absent: all. */
  readonly models?: readonly string[] | undefined
  /** Slugs of the tool servers it may use, `*` for all; absent: all. */
  readonly mcpServers?: readonly string[] | undefined
  /** Absent: true for a key that may use all tool servers, otherwise false. */
  readonly mcpUrls?: boolean | undefined
  /** True if it may use objects stored in the gateway's accounts at providers. Default: false. */
  readonly providerObjects?: boolean | undefined
  /** Names of the guards that inspect all of its calls; absent: none. */
  readonly guards?: readonly string[] | undefined
  /** Unix time in milliseconds; absent means never. */
  readonly expiresAtMs?: number | undefined
  /** Limits; absent means the default. */
  readonly limits?: PartyLimits | undefined
  /** Default: the default project. */
  readonly projectId?: string | undefined
  /** Name of the user or admin key that creates it. */
  readonly createdBy?: string | undefined
  /** Id of its owner; an unknown id means no owner. */
  readonly ownerId?: string | undefined
  /** True for a key that the dashboard created for its playground: lists omit it. */
  readonly temporary?: boolean | undefined
  /** The fields that members may not change. */
  readonly setByAdmin?: readonly LimitingField[] | undefined
}

export interface KeyStore extends Required<Keys> {
  /**
   * Creates a key. Its text is only in the result.
   *
   * @throws DuplicateKeyNameError when an active key has that name
   */
  readonly create: (wanted: NewKey) => Promise<{ readonly id: string, readonly key: string }>
  /**
   * Lists all keys except temporary ones: first those of the configuration, then the others, including
   * revoked ones, oldest first.
   */
  readonly list: () => Promise<readonly ListedKey[]>
  readonly configured: () => readonly ListedKey[]
  /** Revokes a stored key; `undefined` when no active key has that id or name. */
  readonly revoke: (idOrName: string) => Promise<ApiKey | undefined>
  readonly replaceConfigured: (configured: readonly KeySettings[]) => void
  /** Returns true while the store cannot be read: later changes of keys are unknown then. */
  readonly isStale: () => boolean
  /** Reads the store now, after this process has changed it. */
  readonly refresh: () => Promise<void>
  /** Checks for changes made by other processes now. */
  readonly poll: () => void
  /** Stops polling. The database stays open: it belongs to the caller. */
  readonly close: () => void
}

export interface KeyStoreOptions extends PollOptions {
  /**
   * Called after keys were changed here, to notify other processes. They also see the change at their next
   * poll.
   */
  readonly onChange?: () => void
}

/** Means that the name of a new key is taken. */
export class DuplicateKeyNameError extends Error {
  constructor (name: string) {
    super(`a key named "${name}" already exists`)
    this.name = 'DuplicateKeyNameError'
  }
}

/**
 * Opens the store.
 *
 * @throws the error of the database if it cannot be read
 */
export async function openKeyStore (
  { query }: Database,
  configured: readonly KeySettings[],
  { onChange = () => {}, ...options }: KeyStoreOptions = {}
): Promise<KeyStore> {
  const poller = new KeyPoller(query, configured, options)
  const { keys } = poller
  await poller.start()
  const refresh = async (): Promise<void> => {
    await poller.read()
    onChange()
  }

  return {
    check: keys.check,
    find: keys.find,

    create: async wanted => {
      const { name } = wanted
      if (keys.configured().some(key => key.name === name)) throw new DuplicateKeyNameError(name)
      const created = await insertKey(query, wanted)
      await refresh()
      return created
    },

    list: async () => {
      const rows = await query
        .selectFrom('keys')
        .selectAll()
        .where('temporary', 'is', null)
        .orderBy('created_at_ms')
        .execute()
      return [...keys.configured(), ...rows.map(listedKey)]
    },

    configured: () => keys.configured(),

    revoke: async idOrName => {
      const row = await revokeBy(query, 'id', idOrName) ?? await revokeBy(query, 'name', idOrName)
      await refresh()
      return row === undefined ? undefined : fromRow(row)
    },

    replaceConfigured: next => keys.setConfigured(next),
    isStale: () => poller.isStale,
    refresh,
    poll: () => poller.poll(),
    close: () => poller.close()
  }
}

/** @throws DuplicateKeyNameError when an active stored key has that name */
async function insertKey (
  query: Database['query'],
  {
    name,
    endpoints,
    models,
    mcpServers,
    mcpUrls,
    providerObjects = false,
    guards,
    expiresAtMs,
    limits,
    projectId,
    createdBy,
    ownerId,
    temporary = false,
    setByAdmin = []
  }: NewKey
): Promise<{ readonly id: string, readonly key: string }> {
  const id = `key_${randomBytes(8).toString('hex')}`
  const key = newKeyText()
  const added = await query.insertInto('keys').values({
    id,
    name,
    digest: digestOf(key),
    endpoints: jsonColumn(endpoints),
    models: jsonColumn(models),
    mcp_servers: jsonColumn(mcpServers),
    mcp_urls: mcpUrls === undefined ? null : Number(mcpUrls),
    provider_objects: Number(providerObjects),
    stages: jsonColumn(guards),
    limits: jsonColumn(limits),
    created_at_ms: Date.now(),
    expires_at_ms: expiresAtMs ?? null,
    revoked_at_ms: null,
    hint: hintOf(key),
    created_by: createdBy ?? null,
    owner_id: ownerId === undefined
      ? null
      : query => query.selectFrom('users').select('id').where('id', '=', ownerId),
    temporary: temporary ? 1 : null,
    set_by_admin: JSON.stringify(setByAdmin),
    ...projectId !== undefined && { project_id: projectId }
  }).onConflict(conflict => conflict.doNothing()).executeTakeFirstOrThrow()
  if (added.numInsertedOrUpdatedRows === 0n) throw new DuplicateKeyNameError(name)
  return { id, key }
}

async function revokeBy (
  query: Database['query'], column: 'id' | 'name', text: string
): Promise<KeyRow | undefined> {
  return await query.updateTable('keys').set({ revoked_at_ms: Date.now() })
    .where(column, '=', text).where('revoked_at_ms', 'is', null)
    .returningAll().executeTakeFirst()
}
