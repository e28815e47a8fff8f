/** Keys of the admin API: `hga_…`. Each acts with a role, within scopes. */

import type { Kysely } from 'kysely'
import type { Role, Scope } from '../../schemas/admin/common.ts'
import type { AdminKey } from '../../schemas/admin/keys.ts'
import type { AdminKeyRow, Tables } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'
import { beyond, pageOf, type PageOf, type PageRequest } from '../stores/pages.ts'
import { digestOf, newId, newToken } from './random-tokens.ts'
import { jsonColumn } from '../stores/json-column.ts'

export interface NewAdminKey {
  readonly name: string
  readonly role: Role
  readonly scopes?: readonly Scope[] | undefined
  readonly expiresAtMs?: number | undefined
  /** Name of the user. */
  readonly createdBy: string
}

/** The prefix of every key, recognised by people and by scanners of repositories. */
export const adminKeyPrefix = 'hga_'

/** The last use is written at most once in this time. */
const usedEveryMs = 60_000

export class AdminKeys {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (query: Kysely<Tables>, use: UseStore) {
    this.#query = query
    this.#use = use
  }

  async create ({
    name,
    role,
    scopes,
    expiresAtMs,
    createdBy
  }: NewAdminKey): Promise<{ readonly key: AdminKey, readonly secret: string }> {
    const secret = newToken(adminKeyPrefix)
    const row: AdminKeyRow = {
      id: newId('admin_key'),
      name,
      digest: digestOf(secret),
      role,
      scopes: jsonColumn(scopes),
      created_by: createdBy,
      created_at_ms: Date.now(),
      expires_at_ms: expiresAtMs ?? null,
      last_used_at_ms: null
    }
    await this.#use(async () => await this.#query.insertInto('admin_keys').values(row).execute())
    return { key: describeAdminKey(row), secret }
  }

  /** Returns the key with a text; `undefined` for one that is wrong, revoked or expired. */
  async check (secret: string): Promise<AdminKey | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .selectFrom('admin_keys')
          .selectAll()
          .where('digest', '=', digestOf(secret))
          .executeTakeFirst()
    )
    const now = Date.now()
    if (row === undefined || (row.expires_at_ms ?? Infinity) <= now) return undefined
    if (now - (row.last_used_at_ms ?? 0) >= usedEveryMs) {
      await this.#use(
        async () =>
          await this.#query
            .updateTable('admin_keys')
            .set({ last_used_at_ms: now })
            .where('id', '=', row.id)
            .execute()
      )
    }
    return describeAdminKey(row)
  }

  async find (id: string): Promise<AdminKey | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query.selectFrom('admin_keys').selectAll().where('id', '=', id).executeTakeFirst()
    )
    return row && describeAdminKey(row)
  }

  /** @returns the revoked key; `undefined` for an unknown one */
  async revoke (id: string): Promise<AdminKey | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query.deleteFrom('admin_keys').where('id', '=', id).returningAll().executeTakeFirst()
    )
    return row && describeAdminKey(row)
  }

  /** Lists the keys, newest first. */
  async list (page: PageRequest): Promise<PageOf<AdminKey>> {
    const rows = this.#query
      .selectFrom('admin_keys')
      .selectAll()
      .where(beyond(page, 'created_at_ms', 'id', 'desc'))
    const found = await this.#use(
      async () =>
        await rows
          .orderBy('created_at_ms', 'desc')
          .orderBy('id', 'desc')
          .limit(page.limit + 1)
          .execute()
    )
    return pageOf(found, page, ({ created_at_ms: ms, id }) => ({ ms, id }), describeAdminKey)
  }
}

function describeAdminKey ({
  id,
  name,
  role,
  scopes,
  created_by,
  created_at_ms,
  expires_at_ms,
  last_used_at_ms
}: AdminKeyRow): AdminKey {
  // written above
  return {
    id,
    name,
    role,
    scopes: scopes === null ? null : (JSON.parse(scopes) as Scope[]),
    created_by,
    created_at_ms,
    expires_at_ms,
    last_used_at_ms
  }
}
