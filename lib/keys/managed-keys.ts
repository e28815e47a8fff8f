/** Keys in the store, as the admin API lists, shows and changes them. */

import { sql, type Kysely } from 'kysely'
import type { Key, KeyChange, NewKey } from '../../schemas/admin/keys.ts'
import { GatewayError } from '../core/errors.ts'
import { defaultProject, type PartyLimits } from '../core/key.ts'
import { mayNameUrls } from '../mcp/tool-scope.ts'
import { beyond, pageOf, type PageOf, type PageRequest } from '../stores/pages.ts'
import type { KeyRow, Tables } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'
import { spentOf, type Spent } from './spent-of.ts'
import { fromPartyLimits, toPartyLimits } from './party-limits.ts'
import type { ListedKey } from './key-rows.ts'
import { setFields, setFieldsAfter, setFieldsOfRow, type LimitingField } from './limiting-fields.ts'
import { DuplicateKeyNameError, type KeyStore } from './key-store.ts'
import { digestOf, hintOf, newKeyText } from './key-text.ts'
import { jsonColumn } from '../stores/json-column.ts'

export interface KeyFilter {
  /** Only these projects; absent: all. */
  readonly projects?: ReadonlySet<string> | undefined
  readonly status?: Key['status'] | undefined
  /** Part of the name or of the id. */
  readonly search?: string | undefined
}

export interface CreatedKey {
  readonly key: Key
  readonly secret: string
}

export class ManagedKeys {
  readonly #keys: KeyStore
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (keys: KeyStore, query: Kysely<Tables>, use: UseStore) {
    this.#keys = keys
    this.#query = query
    this.#use = use
  }

  /**
   * Creates a key.
   *
   * @param creator its name, and the id of the user who becomes the owner unless `owner_id` names another one
   * @param options.byAdmin true if members may not change its limits; default true
   * @param options.temporary true for a key that lists omit
   * @throws GatewayError `conflict` when an active key has the name; `invalid_value` for an unknown owner
   */
  async create (
    wanted: NewKey,
    { id: creatorId, name: createdBy }: { readonly id: string | null, readonly name: string },
    { byAdmin = true, temporary = false } = {}
  ): Promise<CreatedKey> {
    const {
      name,
      project_id: projectId,
      owner_id: ownerId = creatorId ?? undefined,
      endpoints,
      models,
      mcp_servers: mcpServers,
      mcp_urls: mcpUrls,
      provider_objects: providerObjects,
      stages,
      limits,
      expires_at_ms: expiresAtMs
    } = wanted
    await this.#checkOwner(wanted.owner_id)
    try {
      const { id, key: secret } = await this.#use(
        async () =>
          await this.#keys.create({
            name,
            projectId,
            createdBy,
            ownerId,
            temporary,
            endpoints,
            models,
            mcpServers,
            mcpUrls,
            providerObjects,
            guards: stages,
            expiresAtMs,
            limits: limits && toPartyLimits(limits),
            setByAdmin: byAdmin ? setFields(wanted) : []
          })
      )
      return { key: await this.require(id), secret }
    } catch (error) {
      throw error instanceof DuplicateKeyNameError ? nameTaken() : error
    }
  }

  /**
   * Changes a key; every process notices within a second.
   *
   * @param byAdmin true if members may not change these fields afterwards, except those set to `null`
   * @throws GatewayError `conflict` when an active key has the name, when the key is temporary, or when
   *   somebody else has changed it in the meantime; `invalid_value` for an unknown owner
   */
  async update (key: Key, change: KeyChange, byAdmin: boolean): Promise<Key> {
    const { id } = key
    const {
      name,
      owner_id: ownerId,
      endpoints,
      models,
      mcp_servers: mcpServers,
      mcp_urls: mcpUrls,
      provider_objects: providerObjects,
      stages,
      limits,
      expires_at_ms: expiresAtMs
    } = change
    await this.#checkOwner(ownerId)
    if (name !== undefined && (await this.#isTaken(name, id))) throw nameTaken()
    const row = await this.#changeable(key)
    await this.#change(row, {
      ...name !== undefined && { name },
      ...ownerId !== undefined && { owner_id: ownerId },
      ...endpoints !== undefined && { endpoints: jsonColumn(endpoints) },
      ...models !== undefined && { models: jsonColumn(models) },
      ...mcpServers !== undefined && { mcp_servers: jsonColumn(mcpServers) },
      ...mcpUrls !== undefined && { mcp_urls: mcpUrls === null ? null : Number(mcpUrls) },
      ...providerObjects !== undefined && { provider_objects: Number(providerObjects) },
      ...stages !== undefined && { stages: jsonColumn(stages) },
      ...limits !== undefined && { limits: jsonColumn(limits && toPartyLimits(limits)) },
      ...expiresAtMs !== undefined && { expires_at_ms: expiresAtMs },
      ...byAdmin && { set_by_admin: JSON.stringify(setFieldsAfter(key, change)) }
    })
    return await this.require(id)
  }

  /**
   * Replaces a key's secret; the previous one works for `overlapMs` more milliseconds.
   *
   * @throws GatewayError `conflict` as `update` does
   */
  async rotate (key: Key, overlapMs: number): Promise<CreatedKey> {
    const secret = newKeyText()
    const { id } = key
    const row = await this.#changeable(key)
    await this.#change(row, {
      digest: digestOf(secret),
      hint: hintOf(secret),
      previous_digest: overlapMs === 0 ? null : sql<string>`digest`,
      previous_until_ms: overlapMs === 0 ? null : Date.now() + overlapMs
    })
    return { key: await this.require(id), secret }
  }

  async revoke (id: string): Promise<Key> {
    await this.#change({ id }, { revoked_at_ms: Date.now() })
    return await this.require(id)
  }

  /** Returns the id of the active stored key with this id, or else with this name. */
  async findActive (idOrName: string): Promise<string | undefined> {
    const found = await this.#use(
      async () =>
        await this.#query
          .selectFrom('keys')
          .select('id')
          .where('revoked_at_ms', 'is', null)
          .where(key => key.or([key('id', '=', idOrName), key('name', '=', idOrName)]))
          .execute()
    )
    return (found.find(({ id }) => id === idOrName) ?? found[0])?.id
  }

  /** Lists keys: first those of the configuration, then the newest. Omits temporary keys. */
  async list ({ projects, status, search }: KeyFilter, page: PageRequest): Promise<PageOf<Key>> {
    const now = Date.now()
    let rows = this.#rows()
      .where('temporary', 'is', null)
      .where(beyond(page, 'keys.created_at_ms', 'keys.id', 'desc'))
    if (projects !== undefined) rows = rows.where('project_id', 'in', [...projects, ''])
    if (status !== undefined) rows = rows.where(sql<boolean>`${statusAt(now)} = ${status}`)
    if (search !== undefined) {
      const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
      rows = rows.where(
        sql<boolean>`(lower(name) like ${pattern} escape '\\' or id like ${pattern} escape '\\')`
      )
    }
    const found = await this.#use(
      async () =>
        await rows
          .orderBy('created_at_ms', 'desc')
          .orderBy('id', 'desc')
          .limit(page.limit + 1)
          .execute()
    )
    const shown = await Promise.all(found.map(async row => await this.#describe(row)))
    const stored = pageOf(shown, page, ({ created_at_ms: ms, id }) => ({ ms: ms ?? 0, id }), key => key)
    const isFirst = page.after === undefined && (projects === undefined || projects.has(defaultProject))
    const listed = isFirst ? this.#keys.configured().filter(key => matches(key, status, search)) : []
    const configured = await Promise.all(listed.map(async key => await this.#describeConfigured(key)))
    return { ...stored, data: [...configured, ...stored.data] }
  }

  /** Returns a key of the store or of the configuration. */
  async find (id: string): Promise<Key | undefined> {
    const row = await this.#use(async () => await this.#rows().where('id', '=', id).executeTakeFirst())
    if (row !== undefined) return await this.#describe(row)
    const configured = this.#keys.configured().find(key => key.id === id)
    return configured && await this.#describeConfigured(configured)
  }

  /** @throws GatewayError `not_found` */
  async require (id: string): Promise<Key> {
    const found = await this.find(id)
    if (found === undefined) throw noSuchKey()
    return found
  }

  #rows () {
    return this.#query
      .selectFrom('keys')
      .selectAll('keys')
      .select(query =>
        query
          .selectFrom('usage')
          .whereRef('usage.key_id', '=', 'keys.id')
          .select(({ fn }) => fn.max('usage.at_ms').as('at_ms'))
          .as('last_used_at_ms')
      )
  }

  /**
   * Reads a key again before it is changed.
   *
   * @throws GatewayError `not_found`; `conflict` if its rights or its owner have changed since it was read,
   *   and for a temporary key
   */
  async #changeable (key: Key): Promise<KeyRow> {
    const { id } = key
    const row = await this.#use(
      async () => await this.#query.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst()
    )
    if (row === undefined) throw noSuchKey()
    if (!isAsRead(row, key)) throw changedMeanwhile()
    if (row.temporary === null) return row
    throw new GatewayError('conflict', {
      message: 'A playground key expires after an hour and cannot be changed. Create a key instead.'
    })
  }

  /**
   * @param key with `changes`, the key is changed only if nobody else has changed it
   * @throws GatewayError `conflict` otherwise
   */
  async #change (
    { id, changes }: Pick<KeyRow, 'id'> & Partial<Pick<KeyRow, 'changes'>>,
    values: Readonly<Record<string, unknown>>
  ): Promise<void> {
    const { numUpdatedRows } = await this.#use(
      async () =>
        await this.#query
          .updateTable('keys')
          .set({ ...values, changes: sql`changes + 1` })
          .where('id', '=', id)
          .$if(changes !== undefined, rows => rows.where('changes', '=', changes ?? 0))
          .executeTakeFirst()
    )
    if (numUpdatedRows === 0n) throw changedMeanwhile()
    await this.#use(async () => await this.#keys.refresh())
  }

  /** @throws GatewayError `invalid_value` for a user that does not exist */
  async #checkOwner (id: string | null | undefined): Promise<void> {
    if (id === undefined || id === null) return
    const found = await this.#use(
      async () => await this.#query.selectFrom('users').select('id').where('id', '=', id).executeTakeFirst()
    )
    if (found === undefined) {
      throw new GatewayError('invalid_value', {
        param: 'owner_id',
        message: 'There is no user with this id.'
      })
    }
  }

  async #isTaken (name: string, except: string): Promise<boolean> {
    if (this.#keys.configured().some(key => key.name === name)) return true
    return (
      (await this.#use(
        async () =>
          await this.#query
            .selectFrom('keys')
            .select('id')
            .where('name', '=', name)
            .where('id', '!=', except)
            .where('revoked_at_ms', 'is', null)
            .executeTakeFirst()
      )) !== undefined
    )
  }

  async #spent (id: string, limits: PartyLimits | undefined): Promise<Spent> {
    return await this.#use(async () => await spentOf(this.#query, id, limits))
  }

  async #describeConfigured (key: ListedKey): Promise<Key> {
    return describeConfigured(key, await this.#spent(key.id, key.limits))
  }

  async #describe (row: KeyRow & { readonly last_used_at_ms: number | null }): Promise<Key> {
    // written by this program, like the lists
    const limits = row.limits === null ? undefined : JSON.parse(row.limits) as PartyLimits
    const list = (text: string | null): string[] | null => text === null ? null : JSON.parse(text) as string[]
    const { mcp_servers: servers, mcp_urls: urls, last_used_at_ms: lastUsed } = row
    const scope = {
      ...servers !== null && { mcpServers: list(servers) ?? [] },
      ...urls !== null && { mcpUrls: urls === 1 }
    }
    const { usd: spentUsd, isExhausted } = await this.#spent(row.id, limits)
    return {
      id: row.id,
      name: row.name,
      project_id: row.project_id,
      source: 'store',
      status:
        row.revoked_at_ms !== null
          ? 'revoked'
          : (row.expires_at_ms ?? Infinity) <= Date.now()
            ? 'expired'
            : 'active',
      hint: row.hint,
      endpoints: list(row.endpoints),
      models: list(row.models),
      mcp_servers: list(servers),
      mcp_urls: mayNameUrls(scope),
      provider_objects: row.provider_objects === 1,
      stages: list(row.stages),
      limits: limits === undefined ? null : fromPartyLimits(limits),
      set_by_admin: setByAdmin(row),
      spent_usd: spentUsd,
      exhausted: isExhausted,
      created_by: row.created_by,
      owner_id: row.owner_id,
      created_at_ms: row.created_at_ms,
      expires_at_ms: row.expires_at_ms,
      revoked_at_ms: row.revoked_at_ms,
      last_used_at_ms: lastUsed
    }
  }
}

/** Returns true if a row still has the rights and the owner that were checked before the change. */
function isAsRead (row: KeyRow, key: Pick<Key, 'set_by_admin' | 'owner_id' | 'provider_objects'>): boolean {
  return (
    String(setByAdmin(row)) === String(key.set_by_admin) &&
    row.owner_id === key.owner_id &&
    (row.provider_objects === 1) === key.provider_objects
  )
}

function setByAdmin (row: KeyRow): LimitingField[] {
  // written by this program
  return row.set_by_admin === null ? setFieldsOfRow(row) : JSON.parse(row.set_by_admin) as LimitingField[]
}

function noSuchKey (): GatewayError {
  return new GatewayError('not_found', { param: 'key_id', message: 'There is no such key.' })
}

function changedMeanwhile (): GatewayError {
  return new GatewayError('conflict', {
    message: 'The key was changed at the same time. Read it again, and send the change once more.'
  })
}

function nameTaken (): GatewayError {
  return new GatewayError('conflict', { param: 'name', message: 'Another key has this name.' })
}

function statusAt (now: number) {
  return sql`case when revoked_at_ms is not null then 'revoked' when expires_at_ms <= ${now} then 'expired' else 'active' end`
}

function describeConfigured (
  {
    id,
    name,
    status,
    endpoints,
    models,
    mcpServers,
    mcpUrls,
    providerObjects = false,
    guards,
    limits,
    expiresAtMs
  }: ListedKey,
  spent: Spent
): Key {
  return {
    id,
    name,
    project_id: defaultProject,
    source: 'configuration',
    status,
    hint: null,
    endpoints: endpoints === undefined ? null : [...endpoints],
    models: models === undefined ? null : [...models],
    mcp_servers: mcpServers === undefined ? null : [...mcpServers],
    mcp_urls: mayNameUrls({
      ...mcpServers !== undefined && { mcpServers },
      ...mcpUrls !== undefined && { mcpUrls }
    }),
    provider_objects: providerObjects,
    stages: guards === undefined ? null : [...guards],
    limits: limits === undefined ? null : fromPartyLimits(limits),
    set_by_admin: [],
    spent_usd: spent.usd,
    exhausted: spent.isExhausted,
    created_by: null,
    owner_id: null,
    created_at_ms: null,
    expires_at_ms: expiresAtMs ?? null,
    revoked_at_ms: null,
    last_used_at_ms: null
  }
}

function matches (
  { name, id, status }: ListedKey,
  wanted: Key['status'] | undefined,
  search: string = ''
): boolean {
  const text = search.toLowerCase()
  return (
    (wanted === undefined || status === wanted) && (name.toLowerCase().includes(text) || id.includes(text))
  )
}
