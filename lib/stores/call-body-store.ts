/** Stores the bodies of calls, and deletes them when they expire. */

import { sql, type Kysely } from 'kysely'
import { yieldFairly } from '../async/yield-fairly.ts'
import { dayMs } from '../core/day.ts'
import type { CallBody } from '../../schemas/admin/call-bodies.ts'
import type { Database } from './database.ts'
import { LongTexts } from './long-texts.ts'
import type { CallBodiesRow, Tables } from './tables.ts'
import { statementRunner, type UseStore } from './use-store.ts'

export interface NewCallBodies extends Omit<CallBodiesRow, 'state' | 'request' | 'answer'> {
  readonly state: 'kept' | 'dropped'
  readonly request: CallBody | undefined
  readonly answer: CallBody | undefined
}

/** Rows emptied, and rows deleted, per statement. */
const emptiedAtOnce = 16
const deletedAtOnce = 500

export class CallBodyStore {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore
  readonly #texts: LongTexts

  constructor (database: Database) {
    this.#query = database.query
    this.#use = statementRunner(database, 'Bodies of calls')
    this.#texts = new LongTexts(database, this.#use, 'call_bodies')
  }

  /**
   * Stores the bodies of a call. They become readable when complete. If the project was archived during the
   * call, they expire immediately.
   *
   * @throws GatewayError `overloaded`
   */
  async add ({ state, request, answer, expires_at_ms: expiresAtMs, ...row }: NewCallBodies): Promise<void> {
    const { id, project_id: projectId } = row
    const archived = this.#query
      .selectFrom('projects')
      .select('id')
      .where('id', '=', projectId)
      .where('archived_at_ms', 'is not', null)
    const expires = sql<number>`case when exists ${archived} then 0 else cast(${expiresAtMs} as bigint) end`
    await this.#use(
      async () =>
        await this.#query
          .insertInto('call_bodies')
          .values({ ...row, expires_at_ms: expires, state: 'storing', request: null, answer: null })
          .execute()
    )
    const stored = {
      state,
      request: await this.#put(id, 'request', request),
      answer: await this.#put(id, 'answer', answer)
    }
    await this.#use(
      async () =>
        await this.#query
          .updateTable('call_bodies')
          .set(stored)
          .where('id', '=', id)
          .where('state', '=', 'storing') // otherwise they have expired by now
          .execute()
    )
  }

  async #put (id: string, name: string, body: CallBody | undefined): Promise<string | null> {
    return body === undefined ? null : await this.#texts.put(id, name, JSON.stringify(body))
  }

  /**
   * Deletes expired bodies. The fact that they existed is kept as long as the call's records.
   *
   * @throws GatewayError `overloaded`
   */
  async expire (nowMs: number, keepDays: number): Promise<void> {
    for (let emptied = emptiedAtOnce; emptied === emptiedAtOnce; await yieldFairly()) {
      const rows = await this.#use(
        async () =>
          await this.#query
            .selectFrom('call_bodies')
            .select('id')
            .where('state', 'in', ['kept', 'storing'])
            .where('expires_at_ms', '<=', nowMs)
            .limit(emptiedAtOnce)
            .execute()
      )
      emptied = rows.length
      await this.empty(rows.map(({ id }) => id))
    }
    const old = this.#query
      .selectFrom('call_bodies')
      .select('id')
      .where('state', 'in', ['expired', 'dropped'])
      .where('expires_at_ms', '<=', nowMs - keepDays * dayMs)
      .limit(deletedAtOnce)
    for (let deleted = deletedAtOnce; deleted === deletedAtOnce; await yieldFairly()) {
      deleted = (
        await this.#use(
          async () =>
            await this.#query.deleteFrom('call_bodies').where('id', 'in', old).returning('id').execute()
        )
      ).length
    }
  }

  /** Expires the bodies of a project immediately. @throws GatewayError `overloaded` */
  async expireProject (projectId: string): Promise<void> {
    await this.#use(
      async () =>
        await this.#query
          .updateTable('call_bodies')
          .set({ expires_at_ms: 0 })
          .where('project_id', '=', projectId)
          .execute()
    )
  }

  /** Deletes bodies. Concurrent readers get them as expired. */
  async empty (ids: readonly string[]): Promise<void> {
    await this.#texts.end(ids)
  }
}
