/**
 * Stores deferred completions: answers until they expire, and calls that this gateway runs itself until they
 * are done. Ids here are digests of the callers' ids.
 *
 * A process that works on a row owns it for a while (a lease), so a dead process blocks nothing. Writes wait
 * for locks without blocking the process; reads never wait.
 */

import { GatewayError } from '../core/errors.ts'
import { isLong, LongTexts, storingMs } from '../stores/long-texts.ts'
import { statementRunner, type UseStore } from '../stores/use-store.ts'
import { sql, type Kysely } from 'kysely'
import type { Database } from '../stores/database.ts'
import type { Lease } from '../stores/lease.ts'
import type { DeferredRow, Tables } from '../stores/tables.ts'

export interface StoredAnswer {
  readonly status: number
  /** JSON. */
  readonly body: string
  /** The placeholders of its texts with their values, sealed. Absent: none. */
  readonly placeholders?: string | undefined
}

/** A row and the key it belongs to. */
export interface OwnedRow {
  readonly id: string
  readonly keyId: string
  /** The user of the caller's application. */
  readonly endUser?: string | undefined
}

export interface StoredTask {
  readonly id: string
  /** JSON. */
  readonly task: string
}

export interface TakeOptions {
  /** Ids of tasks that are not taken. Default: none. */
  readonly except?: readonly string[]
  /** Leases that ended by then are those of dead processes. Default: now. 0 takes only waiting tasks. */
  readonly endedByMs?: number
}

export interface LeasedTask extends StoredTask {
  /** How often it was leased and not returned, including this time. */
  readonly attempts: number
}

/**
 * Returns the name of the placeholders of a run: a run that lost its task may still store its own.
 *
 * @param owner `null` for an answer of an earlier version
 */
function placeholdersName (owner: string | null): string {
  return owner === null ? 'placeholders' : `placeholders-${owner}`
}

/** Rows deleted per statement. */
const rowsAtOnce = 16

export class DeferredStore {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore
  readonly #texts: LongTexts
  readonly #skipLocked: Database['skipLocked']
  /** Returns the time by the clock used for leases and expiry. */
  readonly now: () => number

  constructor (database: Pick<Database, 'query' | 'storeFileIntact' | 'skipLocked' | 'lockRows' | 'now'>) {
    this.#query = database.query
    this.#skipLocked = database.skipLocked
    this.now = database.now
    this.#use = statementRunner(database, 'Deferred completions')
    this.#texts = new LongTexts(database, this.#use, 'deferred')
  }

  /** @param takeMemory is called with the size of a row before the row is read */
  async find (
    id: string,
    nowMs: number,
    takeMemory: (bytes: number) => void = () => undefined
  ): Promise<DeferredRow | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .selectFrom('deferred')
          .selectAll()
          .where('id', '=', id)
          .where('expires_at_ms', '>', nowMs)
          .executeTakeFirst()
    )
    if (row?.body == null) return row
    takeMemory(row.size_bytes)
    const body = await this.#texts.get(id, row.body)
    return body === undefined ? undefined : { ...row, body }
  }

  /**
   * Records that a completion is about to be fetched. `again` means that an earlier try had an unknown
   * result.
   *
   * @returns `undefined` if another process fetches it, or if it is done
   */
  async claim (
    { id, keyId, endUser }: OwnedRow,
    lease: Lease,
    expiresAtMs: number,
    nowMs: number
  ): Promise<'first' | 'again' | undefined> {
    const row = {
      id,
      key_id: keyId,
      size_bytes: 0,
      state: 'fetching' as const,
      owner: lease.owner,
      lease_until_ms: lease.untilMs,
      expires_at_ms: expiresAtMs,
      attempts: 0,
      end_user: endUser ?? null
    }
    const inserted = await this.#use(async () => await this.#query.insertInto('deferred').values(row)
      .onConflict(conflict => conflict.column('id').doNothing()).returning('id').executeTakeFirst())
    if (inserted !== undefined) return 'first'
    const taken = await this.#use(async () => await this.#query.updateTable('deferred')
      .set({ owner: lease.owner, lease_until_ms: lease.untilMs })
      .where('id', '=', id).where('state', '=', 'fetching').where('lease_until_ms', '<=', nowMs)
      .returning('id').executeTakeFirst())
    return taken === undefined ? undefined : 'again'
  }

  /** Deletes the row of a completion that was not ready, as if it had never been tried. */
  async forget (id: string, owner: string): Promise<void> {
    await this.#use(async () => await this.#query.deleteFrom('deferred')
      .where('id', '=', id).where('owner', '=', owner).where('state', '=', 'fetching').execute())
  }

  /** Ends a fetch with an unknown result; the next fetch finds out. */
  async release (id: string, owner: string): Promise<void> {
    await this.#use(async () => await this.#query.updateTable('deferred').set({ lease_until_ms: 0 })
      .where('id', '=', id).where('owner', '=', owner).where('state', '=', 'fetching').execute())
  }

  /** Returns a task to be started again, here or elsewhere; this run does not count as an attempt. */
  async requeue (id: string, owner: string): Promise<void> {
    await this.#use(
      async () =>
        await this.#query
          .updateTable('deferred')
          .set(({ eb }) => ({
            state: 'queued' as const,
            lease_until_ms: 0,
            attempts: eb('attempts', '-', 1)
          }))
          .where('id', '=', id)
          .where('owner', '=', owner)
          .where('state', '=', 'running')
          .execute()
    )
  }

  /**
   * Stores an answer and deletes the task, unless another process owns the row now. May be repeated with the
   * same answer after a failure.
   *
   * @returns true if this call stored it
   */
  async finish (id: string, owner: string, answer: StoredAnswer, expiresAtMs: number): Promise<boolean> {
    const { isStored, isNew } = await this.#put(id, owner, answer, expiresAtMs)
    if (isStored) await this.#texts.remove([id], ['task'])
    return isNew
  }

  /** Stores an answer that has no task, like `finish`. */
  async keep (id: string, owner: string, answer: StoredAnswer, expiresAtMs: number): Promise<boolean> {
    return (await this.#put(id, owner, answer, expiresAtMs)).isNew
  }

  async #put (
    id: string,
    owner: string,
    answer: StoredAnswer,
    expiresAtMs: number
  ): Promise<{ readonly isStored: boolean, readonly isNew: boolean }> {
    const textName = `body-${owner}`
    const body = await this.#texts.put(id, textName, answer.body)
    if (answer.placeholders !== undefined) {
      await this.#texts.putInPieces(id, placeholdersName(owner), answer.placeholders)
    }
    const row = await this.#use(
      async () =>
        await this.#query
          .updateTable('deferred')
          .set({
            state: 'done',
            task: null,
            status: answer.status,
            body,
            size_bytes: Buffer.byteLength(answer.body) + (answer.placeholders?.length ?? 0),
            expires_at_ms: expiresAtMs
          })
          .where('id', '=', id)
          .where('owner', '=', owner)
          .where('state', '!=', 'done')
          .where('expires_at_ms', '>', 0)
          .returning('id')
          .executeTakeFirst()
    )
    if (row !== undefined) return { isStored: true, isNew: true }
    // A failed write may have been stored.
    const stored = await this.#use(async () => await this.#query.selectFrom('deferred').select('id')
      .where('id', '=', id).where('state', '=', 'done').where('body', '=', body).executeTakeFirst())
    if (stored === undefined) await this.#texts.remove([id], [textName, placeholdersName(owner)])
    return { isStored: stored !== undefined, isNew: false }
  }

  /** Returns the placeholders stored with an answer; `undefined` if there are none. */
  async placeholders (id: string): Promise<string | undefined> {
    const row = await this.#use(async () => await this.#query.selectFrom('deferred').select('owner')
      .where('id', '=', id).where('state', '=', 'done').executeTakeFirst())
    return row === undefined ? undefined : await this.#texts.find(id, placeholdersName(row.owner))
  }

  /** Returns the bytes stored for a key: tasks and answers. */
  async keptBytes (keyId: string): Promise<number> {
    const { bytes } = await this.#use(async () => await this.#query.selectFrom('deferred')
      .select(({ fn }) => fn.sum<number | null>('size_bytes').as('bytes'))
      .where('key_id', '=', keyId).executeTakeFirstOrThrow())
    return bytes ?? 0
  }

  /**
   * Adds a task, which is not taken before all of it is stored. A key may use half of the slots, of `max`,
   * that others leave free.
   *
   * @returns false if there is no slot left for this key
   * @throws GatewayError `overloaded` when its row was deleted before all of it was stored
   */
  async add (
    { id, keyId, endUser, task }: OwnedRow & StoredTask,
    expiresAtMs: number,
    max: number
  ): Promise<boolean> {
    // One statement: with a separate count, another process could add a task in between.
    const waiting = this.#query.selectFrom('deferred').select(({ fn }) => fn.countAll<number>().as('count'))
      .where('state', 'in', ['queued', 'running'])
    const own = waiting.where('key_id', '=', keyId)
    const inPieces = isLong(task)
    const storedByMs = this.now() + storingMs
    const values = this.#query
      .selectNoFrom(build => [
        build.val(id).as('id'),
        build.val(keyId).as('key'),
        build.val(inPieces ? '' : task).as('task'),
        build.val(Buffer.byteLength(task)).as('size'),
        build.val('queued' as const).as('state'),
        build.val(inPieces ? storedByMs : 0).as('lease'),
        build.val(inPieces ? storedByMs : expiresAtMs).as('expires'),
        sql<string | null>`cast(${endUser ?? null} as text)`.as('user')
      ])
      .where(build => build(build(waiting, '+', own), '<', max))
    const row = await this.#use(
      async () =>
        await this.#query
          .insertInto('deferred')
          .columns([
            'id',
            'key_id',
            'task',
            'size_bytes',
            'state',
            'lease_until_ms',
            'expires_at_ms',
            'end_user'
          ])
          .expression(values)
          .returning('id')
          .executeTakeFirst()
    )
    if (row !== undefined && inPieces) {
      const inRow = await this.#texts.put(id, 'task', task)
      const completed = await this.#use(
        async () =>
          await this.#query
            .updateTable('deferred')
            .set({ task: inRow, lease_until_ms: 0, expires_at_ms: expiresAtMs })
            .where('id', '=', id)
            .where('expires_at_ms', '>', 0)
            .returning('id')
            .executeTakeFirst()
      )
      if (completed === undefined) {
        throw new GatewayError('overloaded', {
          message: 'The deferred call could not be stored in time. Try again later.'
        })
      }
    }
    return row !== undefined
  }

  /**
   * Leases a task that is waiting, or whose owner has died: the oldest one of the key with the fewest running
   * tasks, so that keys take turns.
   */
  async take (
    lease: Lease,
    nowMs: number,
    { except = [], endedByMs = nowMs }: TakeOptions = {}
  ): Promise<LeasedTask | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .updateTable('deferred')
          .set(({ eb }) => ({
            state: 'running' as const,
            owner: lease.owner,
            lease_until_ms: lease.untilMs,
            attempts: eb('attempts', '+', 1)
          }))
          .where('id', '=', query =>
            query
              .selectFrom('deferred')
              .select('id')
              .where('state', 'in', ['queued', 'running'])
              .where('lease_until_ms', '<=', endedByMs)
              .where('expires_at_ms', '>', nowMs)
              .$if(except.length > 0, others => others.where('id', 'not in', except))
              .orderBy(eb =>
                eb
                  .selectFrom('deferred as other')
                  .select(({ fn }) => fn.countAll().as('running'))
                  .whereRef('other.key_id', '=', 'deferred.key_id')
                  .where('other.state', '=', 'running')
                  .where('other.lease_until_ms', '>', nowMs)
              )
              .orderBy('expires_at_ms')
              .limit(1)
              .$call(this.#skipLocked)
          )
          .returning(['id', 'task', 'attempts'])
          .executeTakeFirst()
    )
    const task = row?.task == null ? undefined : await this.#texts.get(row.id, row.task)
    return row === undefined || task === undefined ? undefined : { id: row.id, task, attempts: row.attempts }
  }

  /** @returns false if the task was cancelled or belongs to another process now: it must stop */
  async renew (id: string, { owner, untilMs }: Lease): Promise<boolean> {
    const row = await this.#use(
      async () =>
        await this.#query
          .updateTable('deferred')
          .set({ lease_until_ms: untilMs })
          .where('id', '=', id)
          .where('owner', '=', owner)
          .where('state', '=', 'running')
          .returning('id')
          .executeTakeFirst()
    )
    return row !== undefined
  }

  /** @returns false if no task waits or runs under this id */
  async cancel (id: string): Promise<boolean> {
    const row = await this.#use(
      async () =>
        await this.#query
          .updateTable('deferred')
          .set({ state: 'done', owner: null, expires_at_ms: 0 })
          .where('id', '=', id)
          .where('state', 'in', ['queued', 'running'])
          .returning('id')
          .executeTakeFirst()
    )
    if (row !== undefined) await this.#delete([id])
    return row !== undefined
  }

  async expire (nowMs: number): Promise<void> {
    for (let deleted = rowsAtOnce; deleted === rowsAtOnce;) {
      const rows = await this.#use(
        async () =>
          await this.#query
            .selectFrom('deferred')
            .select('id')
            .where('expires_at_ms', '<=', nowMs)
            .limit(rowsAtOnce)
            .execute()
      )
      await this.#delete(rows.map(({ id }) => id))
      deleted = rows.length
    }
  }

  /** Deletes expired rows; the row that refers to the others comes last. */
  async #delete (ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.#texts.end(ids)
    await this.#use(async () => await this.#query.deleteFrom('deferred').where('id', 'in', ids).execute())
  }
}
