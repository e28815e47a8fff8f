/**
 * Stores gateway keys: those of the configuration and those created with `headgate keys`.
 *
 * Only SHA-256 digests are stored, never the keys. All active digests are in memory, so `check` never waits.
 * The store is polled twice a second for keys that another process created or revoked. Polling is one query
 * on a small table, works on any database and file system, and costs a running gateway some 60 µs a second;
 * watching the file would wake up for every unrelated write.
 */

import { randomBytes, timingSafeEqual } from 'node:crypto'
import { GatewayError } from '../core/errors.ts'
import { defaultProject, isExpired, type ApiKey, type PartyLimits } from '../core/key.ts'
import type { KeySettings } from '../core/settings.ts'
import type { Database } from '../stores/database.ts'
import type { KeyRow } from '../stores/tables.ts'
import {
  allGuards, entriesOfRow, fromRow, listedKey, listText, guardsOf, type KeyEntry, type ListedKey
} from './key-rows.ts'
import type { LimitingField } from './limiting-fields.ts'
import { digestOf, hintOf, newKeyText } from './key-text.ts'
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
  readonly stages?: readonly string[] | undefined
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
  /** Lists the keys of the configuration. */
  readonly configured: () => readonly ListedKey[]
  /** Revokes a stored key; `undefined` when no active key has that id or name. */
  readonly revoke: (idOrName: string) => Promise<ApiKey | undefined>
  /** Replaces the keys of the configuration. */
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

export interface KeyStoreOptions {
  /** Milliseconds between two polls. Default 500. */
  readonly pollMs?: number
  /** Milliseconds for which keys stay valid while the store cannot be read. Default: for ever. */
  readonly staleMs?: number
  /**
   * Called after keys were changed here, to notify other processes. They also see the change at their next
   * poll.
   */
  readonly onChange?: () => void
  /** Called for the first failed poll after a successful one; the loaded keys stay valid. */
  readonly onFailure?: (error: unknown) => void
}

/** Means that the name of a new key is taken. */
export class DuplicateKeyNameError extends Error {
  constructor (name: string) {
    super(`a key named "${name}" already exists`)
    this.name = 'DuplicateKeyNameError'
  }
}

/** Maximum valid keys to remember, so that they need not be digested for every call. */
const maxAccepted = 1000

/** Maps digests to keys. */
type Entries = ReadonlyMap<string, KeyEntry>

/**
 * Opens the store.
 *
 * @throws the error of the database if it cannot be read
 */
export async function openKeyStore (
  { query }: Database,
  configured: readonly KeySettings[],
  {
    pollMs: everyMs = 500,
    staleMs = Infinity,
    onFailure = () => {},
    onChange = () => {}
  }: KeyStoreOptions = {}
): Promise<KeyStore> {
  let stale = false
  let readMs = performance.now()
  const isTooOld = (): boolean => stale && performance.now() - readMs > staleMs
  const loaded = new LoadedKeys(configured, isTooOld)
  let seen = ''
  let begunReads = 0
  let loadedRead = 0

  const read = async (counts: string): Promise<void> => {
    const number = ++begunReads
    const { entries, defaultGuards } = await readStored(query)
    // A read that began earlier may end later: it lacks keys created since, and still has revoked ones.
    if (number < loadedRead) return
    loadedRead = number
    loaded.setStored(entries, defaultGuards)
    seen = counts
  }
  const refresh = async (): Promise<void> => {
    await read(await countChanges(query))
    onChange()
  }
  const readChanges = async (): Promise<void> => {
    const counts = await countChanges(query)
    if (counts !== seen) await read(counts)
  }

  await readChanges()
  readMs = performance.now()
  /** One poll at a time, however slow the store is. */
  let polling = false
  const poll = (): void => {
    if (polling) return
    polling = true
    readChanges().then(() => {
      stale = false
      readMs = performance.now()
    }, (error: unknown) => {
      if (!stale) onFailure(error)
      stale = true
      if (isTooOld()) loaded.recheck()
    }).finally(() => { polling = false })
  }
  const timer = setInterval(poll, everyMs).unref()

  return {
    check: loaded.check,
    find: loaded.find,

    create: async wanted => {
      const { name } = wanted
      if (loaded.configured().some(key => key.name === name)) throw new DuplicateKeyNameError(name)
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
      return [...loaded.configured(), ...rows.map(listedKey)]
    },

    configured: () => loaded.configured(),

    revoke: async idOrName => {
      const row = await revokeBy(query, 'id', idOrName) ?? await revokeBy(query, 'name', idOrName)
      await refresh()
      return row === undefined ? undefined : fromRow(row)
    },

    replaceConfigured: next => loaded.setConfigured(next),
    isStale: () => stale,
    refresh,
    poll,
    close: () => clearInterval(timer)
  }
}

/** The active keys in memory, so that a check never waits. */
class LoadedKeys {
  readonly #isTooOld: () => boolean
  #settings: readonly KeySettings[] = []
  #configured: Entries = new Map()
  /** The guards of the default project, to which keys of the configuration belong. */
  #defaultGuards: readonly string[] | undefined
  #stored: Entries = new Map()
  #byId: ReadonlyMap<string, ApiKey> = new Map()
  /**
   * Valid keys as presented, since digesting and comparing take 2 µs. Wrong keys are never added, and any
   * change of the keys clears it.
   */
  readonly #accepted = new Map<string, KeyEntry>()

  /** @param isTooOld returns true when stored keys may have been revoked long ago */
  constructor (configured: readonly KeySettings[], isTooOld: () => boolean) {
    this.#isTooOld = isTooOld
    this.setConfigured(configured)
  }

  readonly check = (presented: string): ApiKey | undefined => {
    const cached = this.#accepted.get(presented)
    if (cached !== undefined) return cached.untilMs <= Date.now() ? undefined : cached.key
    const text = digestOf(presented)
    const entry = this.#configured.get(text) ?? this.#stored.get(text)
    // Also compares the digest in constant time, which the map does not.
    if (entry === undefined || !timingSafeEqual(Buffer.from(text, 'base64'), entry.digest)) return undefined
    if (!this.#configured.has(text) && this.#isTooOld()) throw unreadable()
    if (entry.untilMs <= Date.now()) return undefined
    if (this.#accepted.size >= maxAccepted) this.#accepted.clear()
    this.#accepted.set(presented, entry)
    return entry.key
  }

  readonly find = (id: string): ApiKey | undefined => {
    const key = this.#byId.get(id)
    return key === undefined || isExpired(key) ? undefined : key
  }

  configured (): ListedKey[] {
    return this.#settings.map(fromSettings).map(([, key]) => (
      { ...key, source: 'configuration', status: isExpired(key) ? 'expired' : 'active' }
    ))
  }

  setConfigured (keys: readonly KeySettings[]): void {
    this.#settings = keys
    this.#onReplaced()
  }

  setStored (entries: Entries, defaultGuards: readonly string[] | undefined): void {
    this.#stored = entries
    this.#defaultGuards = defaultGuards
    this.#onReplaced()
  }

  /** Forgets valid keys, so that each is checked at its next use. */
  recheck (): void {
    this.#accepted.clear()
  }

  #onReplaced (): void {
    this.recheck()
    this.#configured = entriesOf(this.#settings.map(fromSettings).map(([digest, key]) => {
      const guards = allGuards(key.guards, this.#defaultGuards)
      return [digest, { ...key, ...guards !== undefined && { guards } }]
    }))
    const entries = [...this.#stored.values(), ...this.#configured.values()]
    this.#byId = new Map(entries.map(({ key }) => [key.id, key]))
  }
}

/**
 * Counts rows and their changes. Rows are never deleted, so the counts reveal every change of a key. The
 * default project may have no row.
 */
async function countChanges (query: Database['query']): Promise<string> {
  const { made, revoked, changes, stages } = await query
    .selectFrom('keys')
    .select(keys => [
      keys.fn.countAll().as('made'),
      keys.fn.count('revoked_at_ms').as('revoked'),
      keys.fn.sum('changes').as('changes'),
      keys.selectFrom('projects').select('stages').where('id', '=', defaultProject).as('stages')
    ])
    .executeTakeFirstOrThrow()
  return `${made} ${revoked} ${changes} ${stages ?? ''}`
}

/** Reads the keys that are not revoked, with the rules of their projects. */
async function readStored (
  query: Database['query']
): Promise<{ readonly entries: Entries, readonly defaultGuards: readonly string[] | undefined }> {
  const rows = await query.selectFrom('keys').selectAll().where('revoked_at_ms', 'is', null).execute()
  const projects = new Map(
    (await query.selectFrom('projects').selectAll().execute()).map(project => [project.id, project])
  )
  const owners = new Map(
    (
      await query
        .selectFrom('users')
        .select(['id', 'name', 'limits'])
        .where('limits', 'is not', null)
        .execute()
    ).map(user => [user.id, user])
  )
  const ownProject = projects.get(defaultProject)
  return {
    entries: new Map(rows.flatMap(row => (
      entriesOfRow(row, projects.get(row.project_id), owners.get(row.owner_id ?? ''))
    ))),
    defaultGuards: ownProject && guardsOf(ownProject)
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
    stages,
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
    endpoints: listText(endpoints),
    models: listText(models),
    mcp_servers: listText(mcpServers),
    mcp_urls: mcpUrls === undefined ? null : Number(mcpUrls),
    provider_objects: Number(providerObjects),
    stages: listText(stages),
    limits: limits === undefined ? null : JSON.stringify(limits),
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

/** Returns the error for a key that may have been revoked long ago. */
function unreadable (): GatewayError {
  return new GatewayError('overloaded', {
    message: 'Keys cannot be checked at the moment. Try again later.',
    retryAfterSeconds: 5
  })
}

function entriesOf (keys: ReadonlyArray<readonly [digest: string, key: ApiKey]>): Entries {
  return new Map(keys.map(([digest, key]) => [
    digest, { key, digest: Buffer.from(digest, 'base64'), untilMs: key.expiresAtMs ?? Infinity }
  ]))
}

function fromSettings ({ key, name, ...scope }: KeySettings): readonly [string, ApiKey] {
  return [digestOf(key.reveal()), { id: `configured:${name}`, name, ...scope }]
}
