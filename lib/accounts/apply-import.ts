/**
 * Imports keys, projects and people of another gateway into the store, and updates what has changed there
 * since. One transaction does everything. Imported entries are remembered by their id at the source, so that
 * a key which was rotated or revoked here does not come back.
 */

import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { cancelledSpending, historyRows } from './import-history.ts'
import { AuditLog, commandLineActor } from './audit-log.ts'
import { newId } from './random-tokens.ts'
import { defaultProject } from '../core/key.ts'
import { setFieldsOfRow } from '../keys/limiting-fields.ts'
import { emptyRow } from '../stores/usage-columns.ts'
import { importEndpoint } from '../stores/usage-rollups.ts'
import { rowId } from '../text/ids.ts'
import type {
  ImportedDay,
  ImportedKey,
  ImportedOrganisation,
  ImportedProject,
  ImportedSpending,
  ImportedUser
} from './imported-organisation.ts'
import { maxNameLength } from '../../schemas/admin/common.ts'
import { jsonColumn } from '../stores/json-column.ts'
import type { Database, Within } from '../stores/database.ts'
import type { ImportedRow, KeyRow, UsageRow } from '../stores/tables.ts'

export interface AppliedImport {
  readonly projects: number
  readonly users: number
  /** Keys that did not exist here. */
  readonly added: number
  readonly changed: number
  /** Keys that are blocked or deleted at the source. */
  readonly revoked: number
  /** Keys that were revoked or archived here and stay so. */
  readonly left: number
}

/**
 * Applies an import.
 *
 * @param source `litellm`
 * @throws the error of the database; nothing has changed then
 */
export async function applyImport (
  database: Database,
  source: string,
  wanted: ImportedOrganisation
): Promise<AppliedImport> {
  const known = await database.query
    .selectFrom('imported')
    .select('spent')
    .where('source', '=', source)
    .execute()
  const moments = [
    ...known.flatMap(({ spent }) => [...parseSpent(spent).keys()]),
    ...[...wanted.projects, ...wanted.keys, ...wanted.users]
      .flatMap(({ spent = [] }) => spent.map(({ fromMs }) => fromMs)),
    ...wanted.keys.flatMap(({ history = [] }) => history.map(({ atMs }) => atMs))
  ]
  return await database.transaction(moments, async within => await new Import(within, source).apply(wanted))
}

class Import {
  readonly #query: Within['query']
  readonly #insertUsage: Within['insertUsage']
  readonly #source: string
  readonly #nowMs = Date.now()
  /** By kind and id at the source. */
  readonly #known = new Map<string, ImportedRow>()
  readonly #usage: UsageRow[] = []
  /** By the id of the key. */
  readonly #histories = new Map<string, readonly ImportedDay[]>()
  readonly #counts = { projects: 0, users: 0, added: 0, changed: 0, revoked: 0, left: 0 }

  constructor ({ query, insertUsage }: Within, source: string) {
    this.#query = query
    this.#insertUsage = insertUsage
    this.#source = source
  }

  async apply ({ projects, users, keys }: ImportedOrganisation): Promise<AppliedImport> {
    const rows = await this.#query
      .selectFrom('imported')
      .selectAll()
      .where('source', '=', this.#source)
      .execute()
    const ids = await this.#query.selectFrom('users').select('id').execute()
    const present = new Set(ids.map(({ id }) => id))
    const deleted = new Set<string>()
    for (const row of rows) {
      if (row.kind === 'user' && !present.has(row.id)) deleted.add(row.source_id)
      else this.#known.set(`${row.kind} ${row.source_id}`, row)
    }
    // Users who were deleted here are not added again.
    for (const user of users) if (!deleted.has(user.sourceId)) await this.#applyUser(user)
    await this.#applyProjects(projects)
    await this.#applyKeys(keys, projects)
    this.#usage.push(...await historyRows(this.#query, this.#histories))
    await this.#insertUsage(this.#usage)
    const log = new AuditLog(this.#query, async work => await work())
    await log.add(commandLineActor, { action: `import.${this.#source}`, after: this.#counts })
    return this.#counts
  }

  /** A user who exists here, or has the same email, is not changed, except for limits. */
  async #applyUser (user: ImportedUser): Promise<void> {
    const { sourceId, limits, spent = [] } = user
    const id = this.#idOf('user', sourceId) ?? await this.#addUser(user)
    if (limits !== undefined) await this.#limitUser(id, JSON.stringify(limits))
    await this.#remember('user', sourceId, id, { spent: this.#spend(id, 'user', sourceId, spent) })
  }

  /** @returns the id of the user, or of the existing user with that email */
  async #addUser ({ name, email, role, createdAtMs }: ImportedUser): Promise<string> {
    const same = email === undefined
      ? undefined
      : await this.#query.selectFrom('users').select('id').where('email', '=', email).executeTakeFirst()
    if (same !== undefined) return same.id
    const id = newId('user')
    await this.#query.insertInto('users').values({
      id,
      name: name.slice(0, maxNameLength),
      email: email ?? null,
      role,
      email_by_other: null,
      password: null,
      created_at_ms: createdAtMs,
      last_seen_at_ms: null,
      disabled_at_ms: null,
      limits: null
    }).execute()
    this.#counts.users++
    return id
  }

  async #limitUser (id: string, limits: string): Promise<void> {
    const row = await this.#query.selectFrom('users').select('limits').where('id', '=', id).executeTakeFirst()
    if (row === undefined || row.limits === limits) return
    await this.#query.updateTable('users').set({ limits }).where('id', '=', id).execute()
    await this.#query
      .updateTable('keys')
      .set({ changes: sql`changes + 1` })
      .where('owner_id', '=', id)
      .execute()
  }

  async #applyProjects (projects: readonly ImportedProject[]): Promise<void> {
    const rows = await this.#query.selectFrom('projects').selectAll().execute()
    const byId = new Map(rows.map(row => [row.id, row]))
    const names = new Set(rows.filter(row => row.archived_at_ms === null).map(({ name }) => name))
    for (const { sourceId, name, models, stages, limits, createdAtMs, members, spent } of projects) {
      const id = this.#idOf('project', sourceId) ?? newId('project')
      const row = byId.get(id)
      const values = {
        models: jsonColumn(models),
        stages: jsonColumn(stages) ?? row?.stages ?? null,
        limits: jsonColumn(limits)
      }
      if (row === undefined) {
        await this.#query
          .insertInto('projects')
          .values({
            id,
            name: freeName(name, names),
            ...values,
            created_at_ms: createdAtMs,
            archived_at_ms: null
          })
          .execute()
        this.#counts.projects++
      } else if (
        row.models !== values.models || row.stages !== values.stages || row.limits !== values.limits
      ) {
        await this.#query.updateTable('projects').set(values).where('id', '=', id).execute()
        await this.#query
          .updateTable('keys')
          .set({ changes: sql`changes + 1` })
          .where('project_id', '=', id)
          .execute()
      }
      await this.#remember('project', sourceId, id, { spent: this.#spend(id, 'project', sourceId, spent) })
      await this.#applyMembers(id, members)
    }
  }

  /** Members who are not users of the source stay. */
  async #applyMembers (projectId: string, members: readonly string[]): Promise<void> {
    const ids = new Set(members.flatMap(user => this.#idOf('user', user) ?? []))
    const present = await this.#query
      .selectFrom('members')
      .select('user_id')
      .where('project_id', '=', projectId)
      .execute()
    const users = new Set([...this.#known.values()].filter(({ kind }) => kind === 'user').map(({ id }) => id))
    for (const { user_id: id } of present) {
      if (ids.delete(id) || !users.has(id)) continue
      await this.#query
        .deleteFrom('members')
        .where('project_id', '=', projectId)
        .where('user_id', '=', id)
        .execute()
    }
    for (const id of ids) {
      await this.#query
        .insertInto('members')
        .values({ project_id: projectId, user_id: id, added_at_ms: this.#nowMs })
        .execute()
    }
  }

  async #applyKeys (keys: readonly ImportedKey[], projects: readonly ImportedProject[]): Promise<void> {
    const rows = await this.#query.selectFrom('keys').selectAll().execute()
    const byId = new Map(rows.map(row => [row.id, row]))
    const byDigest = new Map(rows.map(row => [row.digest, row]))
    const names = new Set(rows.filter(row => row.revoked_at_ms === null).map(({ name }) => name))
    for (const key of keys) {
      const known = this.#known.get(`key ${key.digest}`)
      const row = known === undefined ? byDigest.get(key.digest) : byId.get(known.id)
      if (row === undefined) await this.#addKey(key, names)
      else await this.#changeKey(key, row, known, names)
      const id = this.#idOf('key', key.digest)
      if (id !== undefined && key.history !== undefined) this.#histories.set(id, key.history)
    }
    const wanted = new Set(keys.map(({ digest }) => digest))
    for (const known of this.#known.values()) {
      if (known.kind !== 'key' || wanted.has(known.source_id)) continue
      const { id, source_id: digest, revoked_at_ms: revokedAtMs } = known
      // its spending there is in the sum of its project
      const starts = this.#periodsOf(byId.get(id)?.project_id, projects)
      const spent = this.#spend(id, 'key', digest, await cancelledSpending(this.#query, id, starts))
      const gone = await this.#remember('key', digest, id, { revokedAtMs, spent })
      if (byId.get(id)?.revoked_at_ms === null) await this.#revoke(gone)
    }
  }

  /** Returns the starts of the periods in which a project of the source has spent. */
  #periodsOf (id: string | undefined, projects: readonly ImportedProject[]): readonly number[] {
    const project = projects.find(({ sourceId }) => this.#idOf('project', sourceId) === id)
    return project?.spent.map(({ fromMs }) => fromMs) ?? []
  }

  async #addKey (key: ImportedKey, names: Set<string>): Promise<void> {
    const id = newId('key')
    const revokedAtMs = key.isBlocked ? this.#nowMs : null
    const columns = this.#columns(key, null)
    const owner = key.createdBy === undefined ? null : this.#idOf('user', key.createdBy) ?? null
    await this.#query.insertInto('keys').values({
      id,
      name: key.isBlocked ? key.name.slice(0, maxNameLength) : freeName(key.name, names),
      digest: key.digest,
      ...columns,
      previous_digest: key.previous?.digest ?? null,
      previous_until_ms: key.previous?.untilMs ?? null,
      mcp_urls: null,
      provider_objects: 0,
      created_at_ms: key.createdAtMs,
      revoked_at_ms: revokedAtMs,
      hint: key.hint ?? null,
      created_by: owner,
      owner_id: owner,
      temporary: null,
      set_by_admin: JSON.stringify(setFieldsOfRow({ ...columns, mcp_urls: null }))
    }).execute()
    this.#counts.added++
    const spent = this.#spend(id, 'key', key.digest, key.spent)
    await this.#remember('key', key.digest, id, { spent, revokedAtMs })
  }

  async #changeKey (
    key: ImportedKey,
    row: KeyRow,
    known: ImportedRow | undefined,
    names: Set<string>
  ): Promise<void> {
    const { id, revoked_at_ms: revokedAtMs } = row
    const isRevokedHere = revokedAtMs !== null && revokedAtMs !== known?.revoked_at_ms
    if (isRevokedHere) {
      this.#counts.left++
      return
    }
    const spent = this.#spend(id, 'key', key.digest, key.spent)
    const remembered = await this.#remember('key', key.digest, id, {
      spent,
      revokedAtMs: key.isBlocked ? revokedAtMs : null
    })
    if (key.isBlocked) {
      if (revokedAtMs === null) await this.#revoke(remembered)
      return
    }
    const columns = {
      ...this.#columns(key, row.stages),
      // a key that was rotated here has a previous one
      ...row.digest === key.digest && {
        previous_digest: key.previous?.digest ?? null,
        previous_until_ms: key.previous?.untilMs ?? null
      }
    }
    const present = Object.fromEntries(Object.keys(columns).map(name => [name, row[name as keyof KeyRow]]))
    if (revokedAtMs === null && isDeepStrictEqual(present, columns)) return
    await this.#query
      .updateTable('keys')
      .set({
        ...columns,
        set_by_admin: JSON.stringify(setFieldsOfRow({ ...columns, mcp_urls: row.mcp_urls })),
        changes: sql`changes + 1`,
        ...revokedAtMs !== null && { revoked_at_ms: null, name: freeName(row.name, names) }
      })
      .where('id', '=', id)
      .execute()
    this.#counts.changed++
  }

  async #revoke (known: ImportedRow): Promise<void> {
    await this.#query
      .updateTable('keys')
      .set({ revoked_at_ms: this.#nowMs })
      .where('id', '=', known.id)
      .execute()
    await this.#remember(known.kind, known.source_id, known.id, { revokedAtMs: this.#nowMs })
    this.#counts.revoked++
  }

  /**
   * Returns the source's decisions about a key, in columns of the store.
   *
   * @param presentStages those set here, which stay if the source names none
   */
  #columns (
    { endpoints, models, mcpServers, stages, limits, expiresAtMs, project }: ImportedKey,
    presentStages: string | null
  ) {
    return {
      stages: jsonColumn(stages) ?? presentStages,
      endpoints: jsonColumn(endpoints),
      models: jsonColumn(models),
      mcp_servers: jsonColumn(mcpServers),
      limits: jsonColumn(limits),
      expires_at_ms: expiresAtMs ?? null,
      project_id: project === undefined ? defaultProject : this.#idOf('project', project) ?? defaultProject
    }
  }

  /**
   * Records how much more, or less, a party has spent at the source since the last import.
   *
   * @returns the sum over all imports, as stored
   */
  #spend (
    id: string,
    kind: ImportedRow['kind'],
    sourceId: string,
    spent: readonly ImportedSpending[]
  ): string {
    const before = parseSpent(this.#known.get(`${kind} ${sourceId}`)?.spent ?? '{}')
    const after = new Map(spent.map(({ fromMs, nanoUsd }) => [fromMs, nanoUsd]))
    for (const fromMs of new Set([...before.keys(), ...after.keys()])) {
      const nanoUsd = (after.get(fromMs) ?? 0) - (before.get(fromMs) ?? 0)
      if (nanoUsd === 0) continue
      this.#usage.push({
        ...emptyRow,
        id: rowId(),
        call_id: importEndpoint,
        at_ms: fromMs,
        key_id: id,
        endpoint: importEndpoint,
        outcome: 'ok',
        attempts: 0,
        estimated: 0,
        cost_nano_usd: nanoUsd
      })
    }
    return JSON.stringify(Object.fromEntries(after))
  }

  #idOf (kind: ImportedRow['kind'], sourceId: string): string | undefined {
    return this.#known.get(`${kind} ${sourceId}`)?.id
  }

  /** Remembers that something came from the source; fields that are not given stay. */
  async #remember (
    kind: ImportedRow['kind'],
    sourceId: string,
    id: string,
    { spent, revokedAtMs = null }: { readonly spent?: string, readonly revokedAtMs?: number | null } = {}
  ): Promise<ImportedRow> {
    const before = this.#known.get(`${kind} ${sourceId}`)
    const row: ImportedRow = {
      source: this.#source,
      kind,
      source_id: sourceId,
      id,
      revoked_at_ms: revokedAtMs,
      spent: spent ?? before?.spent ?? '{}'
    }
    this.#known.set(`${kind} ${sourceId}`, row)
    if (isDeepStrictEqual(row, before)) return row
    await this.#query
      .insertInto('imported')
      .values(row)
      .onConflict(conflict =>
        conflict
          .columns(['source', 'kind', 'source_id'])
          .doUpdateSet({ id, revoked_at_ms: row.revoked_at_ms, spent: row.spent })
      )
      .execute()
    return row
  }
}

/** Returns the amounts by the start of their periods. */
function parseSpent (text: string): Map<number, number> {
  const entries = Object.entries(JSON.parse(text) as Readonly<Record<string, number>>) // written above
  return new Map(entries.map(([fromMs, nanoUsd]) => [Number(fromMs), nanoUsd]))
}

/** Returns a name that is not among these, and adds it to them. */
function freeName (wanted: string, names: Set<string>): string {
  const base = wanted.trim().slice(0, maxNameLength - 6) || 'imported'
  let name = base
  for (let number = 2; names.has(name); number++) name = `${base} (${number})`
  names.add(name)
  return name
}
