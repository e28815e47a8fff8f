/**
 * What is kept of deferred completions: answers until they expire, and calls this gateway runs
 * itself until they are done. Ids here are digests of the ids callers have.
 *
 * Whoever works on a row owns it for a while (a lease), so a process that dies holds nothing up.
 * What writes waits its turn beside everything else; what only reads never has to.
 */

import { randomBytes } from 'node:crypto'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import type { Kysely } from 'kysely'
import type { Database, DeferredRow, Tables } from '../stores/database.ts'

export interface StoredAnswer {
  readonly status: number
  /** JSON. */
  readonly body: string
}

export interface Lease {
  readonly owner: string
  readonly untilMs: number
}

/** A row and the key it belongs to. */
export interface Owned {
  readonly id: string
  readonly keyId: string
}

export interface StoredTask {
  readonly id: string
  /** JSON. */
  readonly task: string
}

export class DeferredStore {
  readonly #query: Kysely<Tables>

  constructor ({ query }: Pick<Database, 'query'>) {
    this.#query = query
  }

  /** The 32 bytes all processes share; made by the first. */
  async secret (): Promise<Buffer> {
    const made = { name: 'deferred', value: randomBytes(32).toString('base64') }
    await retryWhenLocked(async () => await this.#query.insertInto('secrets').values(made)
      .onConflict(conflict => conflict.column('name').doNothing()).execute())
    const { value } = await this.#query.selectFrom('secrets').select('value').where('name', '=', 'deferred').executeTakeFirstOrThrow()
    return Buffer.from(value, 'base64')
  }

  async find (id: string, nowMs: number): Promise<DeferredRow | undefined> {
    return await this.#query.selectFrom('deferred').selectAll()
      .where('id', '=', id).where('expires_at_ms', '>', nowMs).executeTakeFirst()
  }

  /**
   * Notes that a completion is about to be fetched. `again` says that somebody tried before and it
   * is not known how that went.
   *
   * @returns `undefined` when another has it, or it is done
   */
  async claim ({ id, keyId }: Owned, lease: Lease, expiresAtMs: number, nowMs: number): Promise<'first' | 'again' | undefined> {
    const row = {
      id, key_id: keyId, size_bytes: 0, state: 'fetching' as const, owner: lease.owner, lease_until_ms: lease.untilMs, expires_at_ms: expiresAtMs
    }
    const made = await retryWhenLocked(async () => await this.#query.insertInto('deferred').values(row)
      .onConflict(conflict => conflict.column('id').doNothing()).returning('id').executeTakeFirst())
    if (made !== undefined) return 'first'
    const taken = await retryWhenLocked(async () => await this.#query.updateTable('deferred')
      .set({ owner: lease.owner, lease_until_ms: lease.untilMs })
      .where('id', '=', id).where('state', '=', 'fetching').where('lease_until_ms', '<=', nowMs)
      .returning('id').executeTakeFirst())
    return taken === undefined ? undefined : 'again'
  }

  /** It was not there yet: as if nobody had tried. */
  async forget (id: string, owner: string): Promise<void> {
    await retryWhenLocked(async () => await this.#query.deleteFrom('deferred')
      .where('id', '=', id).where('owner', '=', owner).execute())
  }

  /** How a fetch went is not known: the next one finds out. */
  async release (id: string, owner: string): Promise<void> {
    await retryWhenLocked(async () => await this.#query.updateTable('deferred').set({ lease_until_ms: 0 })
      .where('id', '=', id).where('owner', '=', owner).where('state', '=', 'fetching').execute())
  }

  /** A task that has to begin anew, here or elsewhere. */
  async requeue (id: string, owner: string): Promise<void> {
    await retryWhenLocked(async () => await this.#query.updateTable('deferred').set({ state: 'queued', lease_until_ms: 0 })
      .where('id', '=', id).where('owner', '=', owner).where('state', '=', 'running').execute())
  }

  /** Keeps an answer, unless the row is no longer the owner's; what was asked goes. */
  async finish (id: string, owner: string, answer: StoredAnswer, expiresAtMs: number): Promise<boolean> {
    const row = await retryWhenLocked(async () => await this.#query.updateTable('deferred')
      .set({
        state: 'done', task: null, owner: null, status: answer.status, body: answer.body,
        size_bytes: Buffer.byteLength(answer.body), expires_at_ms: expiresAtMs
      })
      .where('id', '=', id).where('owner', '=', owner).where('state', '!=', 'done')
      .returning('id').executeTakeFirst())
    return row !== undefined
  }

  /** Bytes that are kept for a key: what it asked and is not answered, and its answers. */
  async keptBytes (keyId: string): Promise<number> {
    const { bytes } = await this.#query.selectFrom('deferred').select(({ fn }) => fn.sum<number | null>('size_bytes').as('bytes'))
      .where('key_id', '=', keyId).executeTakeFirstOrThrow()
    return bytes ?? 0
  }

  /**
   * Of the `most` places a key may have half of those that others leave: it always leaves some.
   *
   * @returns false when there is no place left for this key
   */
  async add ({ id, keyId, task }: Owned & StoredTask, expiresAtMs: number, most: number): Promise<boolean> {
    // One statement: counting first would be two, between which another process may add one.
    const waiting = this.#query.selectFrom('deferred').select(({ fn }) => fn.countAll<number>().as('count'))
      .where('state', 'in', ['queued', 'running'])
    const own = waiting.where('key_id', '=', keyId)
    const values = this.#query.selectNoFrom(build => [
      build.val(id).as('id'), build.val(keyId).as('key'), build.val(task).as('task'), build.val(Buffer.byteLength(task)).as('size'),
      build.val('queued' as const).as('state'), build.val(0).as('lease'), build.val(expiresAtMs).as('expires')
    ]).where(build => build(build(waiting, '+', own), '<', most))
    const row = await retryWhenLocked(async () => await this.#query.insertInto('deferred')
      .columns(['id', 'key_id', 'task', 'size_bytes', 'state', 'lease_until_ms', 'expires_at_ms']).expression(values)
      .returning('id').executeTakeFirst())
    return row !== undefined
  }

  /** A task that waits, or one whose owner has died. */
  async take (lease: Lease, nowMs: number): Promise<StoredTask | undefined> {
    const row = await retryWhenLocked(async () => await this.#query.updateTable('deferred')
      .set({ state: 'running', owner: lease.owner, lease_until_ms: lease.untilMs })
      .where('id', '=', query => query.selectFrom('deferred').select('id')
        .where('state', 'in', ['queued', 'running']).where('lease_until_ms', '<=', nowMs)
        .where('expires_at_ms', '>', nowMs).limit(1))
      .returning(['id', 'task']).executeTakeFirst())
    return row?.task == null ? undefined : { id: row.id, task: row.task }
  }

  /** @returns false when the task was cancelled or taken over: it need not go on */
  async renew (id: string, { owner, untilMs }: Lease): Promise<boolean> {
    const row = await retryWhenLocked(async () => await this.#query.updateTable('deferred').set({ lease_until_ms: untilMs })
      .where('id', '=', id).where('owner', '=', owner).where('state', '=', 'running').returning('id').executeTakeFirst())
    return row !== undefined
  }

  /** @returns false when there is nothing that waits or runs under this id */
  async cancel (id: string): Promise<boolean> {
    const row = await retryWhenLocked(async () => await this.#query.deleteFrom('deferred')
      .where('id', '=', id).where('state', 'in', ['queued', 'running']).returning('id').executeTakeFirst())
    return row !== undefined
  }

  async expire (nowMs: number): Promise<void> {
    await retryWhenLocked(async () => await this.#query.deleteFrom('deferred').where('expires_at_ms', '<=', nowMs).execute())
  }
}
