/**
 * Records who did what and when, with what changed. It never contains secrets: callers pass only fields that
 * people may see.
 */

import { sql, type Kysely } from 'kysely'
import type { AuditEntry } from '../../schemas/admin/audit.ts'
import type { AuditRow, Tables } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'
import { beyond, pageOf, type PageOf, type PageRequest } from '../stores/pages.ts'
import { newId } from './random-tokens.ts'
import { jsonColumn } from '../stores/json-column.ts'

/** Actors: users, admin keys, the command line. */
export interface Actor {
  readonly id: string | null
  readonly name: string
  readonly address: string | null
}

/** The gateway itself. */
export const gatewayActor: Actor = { id: null, name: 'gateway', address: null }
export const commandLineActor: Actor = { id: null, name: 'command line', address: null }

export interface Act {
  /** `key.create`: the kind of object, and the action. */
  readonly action: string
  readonly subject?: { readonly id: string, readonly name?: string | undefined }
  readonly before?: object | undefined
  readonly after?: object | undefined
}

export interface AuditFilter {
  readonly action?: string | undefined
  readonly actor?: string | undefined
  readonly subject?: string | undefined
}

export class AuditLog {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (query: Kysely<Tables>, use: UseStore) {
    this.#query = query
    this.#use = use
  }

  async add ({ id, name, address }: Actor, { action, subject, before, after }: Act): Promise<void> {
    const row: AuditRow = {
      id: newId('act'),
      at_ms: Date.now(),
      actor: name,
      actor_id: id,
      action,
      subject: subject?.id ?? null,
      subject_name: subject?.name ?? null,
      address,
      ...changes(before, after)
    }
    await this.#use(async () => await this.#query.insertInto('audit').values(row).execute())
  }

  /** Lists entries, newest first. */
  async list ({ action, actor, subject }: AuditFilter, page: PageRequest): Promise<PageOf<AuditEntry>> {
    let rows = this.#query.selectFrom('audit').selectAll()
    if (action !== undefined) {
      rows = rows.where(query =>
        query.or([
          query('action', '=', action),
          sql<boolean>`action like ${`${action.replace(/[\\%_]/g, '\\$&')}.%`} escape '\\'`
        ])
      )
    }
    if (actor !== undefined) rows = rows.where('actor_id', '=', actor)
    if (subject !== undefined) rows = rows.where('subject', '=', subject)
    rows = rows.where(beyond(page, 'at_ms', 'id', 'desc'))
    const found = await this.#use(
      async () =>
        await rows
          .orderBy('at_ms', 'desc')
          .orderBy('id', 'desc')
          .limit(page.limit + 1)
          .execute()
    )
    return pageOf(found, page, ({ at_ms: ms, id }) => ({ ms, id }), entryOf)
  }
}

/** Keeps only fields that differ. */
function changes (before: object | undefined, after: object | undefined): Pick<AuditRow, 'before' | 'after'> {
  if (before === undefined || after === undefined) {
    return { before: jsonColumn(before), after: jsonColumn(after) }
  }
  const differ = Object.keys({ ...before, ...after }).filter(
    name => JSON.stringify(Reflect.get(before, name)) !== JSON.stringify(Reflect.get(after, name))
  )
  const only = (from: object): object =>
    Object.fromEntries(differ.map(name => [name, Reflect.get(from, name) ?? null]))
  return { before: jsonColumn(only(before)), after: jsonColumn(only(after)) }
}

function entryOf ({ before, after, ...row }: AuditRow): AuditEntry {
  // written above
  const read = (text: string | null): Record<string, unknown> | null =>
    text === null ? null : (JSON.parse(text) as Record<string, unknown>)
  return { ...row, before: read(before), after: read(after) }
}
