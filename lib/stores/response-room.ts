/**
 * Makes room in the store of responses: removes expired and deleted ones, and what exceeds the limit of a
 * key.
 */

import type { Kysely } from 'kysely'
import { yieldFairly } from '../async/yield-fairly.ts'
import { PrunedMap } from '../async/pruned-map.ts'
import type { LongTexts } from './long-texts.ts'
import type { Tables } from './tables.ts'
import type { UseStore } from './use-store.ts'

/** A key's size is recounted after this share of its limit was added. */
const recountShare = 1 / 16
/** Milliseconds without new responses after which a key's added bytes are forgotten and it is recounted. */
const keptForMs = 600_000

/** Responses hidden at once if a key exceeds its limit, and responses deleted per statement. */
const rowsAtOnce = 16
/** The expiry of hidden responses: no time is before it. */
const hiddenAtMs = 0
/** Items and stream frames deleted per statement. */
const itemsAtOnce = 1000
const framesAtOnce = 16

/** Bytes added for a key since the last count, and the time of the last addition. */
interface Added {
  readonly bytes: number
  readonly atMs: number
}

export class ResponseRoom {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore
  readonly #texts: LongTexts
  /** By key. */
  readonly #added = new PrunedMap<Added>(({ atMs }) => atMs < this.#nowMs - keptForMs)
  #nowMs = 0

  constructor (query: Kysely<Tables>, use: UseStore, texts: LongTexts) {
    this.#query = query
    this.#use = use
    this.#texts = texts
  }

  /**
   * Hides the oldest responses of a key, and deletes those that nothing continues, until the key is within
   * its limit. Sizes are recounted only from time to time.
   *
   * @param id the response just stored: it and the responses that it continues are kept even if they exceed
   *   the limit by themselves
   */
  async makeRoom (
    keyId: string,
    id: string,
    sizeBytes: number,
    maxBytesPerKey: number,
    nowMs: number
  ): Promise<void> {
    this.#nowMs = nowMs
    // until the first count, the sum is unknown: this causes that count
    const added = (this.#added.get(keyId)?.bytes ?? maxBytesPerKey) + sizeBytes
    const isCounted = added < maxBytesPerKey * recountShare
    this.#added.set(keyId, { bytes: isCounted ? added : 0, atMs: nowMs })
    if (isCounted) return
    try {
      await this.#makeRoom(keyId, id, maxBytesPerKey, nowMs)
    } catch (error) {
      this.#added.delete(keyId) // the next call counts again
      throw error
    }
  }

  async #makeRoom (keyId: string, id: string, maxBytesPerKey: number, nowMs: number): Promise<void> {
    while (await this.#keptBytes(keyId) > maxBytesPerKey) {
      const hidden = await this.#hideOldest(keyId, id)
      // the rest is continued by this response, or by one being stored
      if (hidden.length === 0) return
      await this.deleteExpired(nowMs)
      for (const oldId of hidden) await this.deleteUnused(oldId)
      await yieldFairly()
    }
  }

  /** @returns the ids of the hidden responses */
  async #hideOldest (keyId: string, exceptId: string): Promise<readonly string[]> {
    const rows = await this.#use(
      async () =>
        await this.#query
          .updateTable('responses')
          .set({ expires_at_ms: hiddenAtMs })
          .where('id', 'in', query =>
            query
              .selectFrom('responses')
              .select('id')
              .where('key_id', '=', keyId)
              .where('id', '!=', exceptId)
              .where('expires_at_ms', '>', hiddenAtMs)
              .orderBy('created_at_ms')
              .limit(rowsAtOnce)
          )
          .returning('id')
          .execute()
    )
    return rows.map(({ id }) => id)
  }

  /** Sums up all rows, including hidden ones, which take space while another response continues them. */
  async #keptBytes (keyId: string): Promise<number> {
    const { bytes } = await this.#use(
      async () =>
        await this.#query
          .selectFrom('responses')
          .select(({ fn, eb }) =>
            fn.sum<number | null>(eb('size_bytes', '+', eb.ref('stream_bytes'))).as('bytes')
          )
          .where('key_id', '=', keyId)
          .executeTakeFirstOrThrow()
    )
    return bytes ?? 0
  }

  /** Deletes conversations whose responses have all expired. @throws GatewayError `overloaded` */
  async deleteExpired (nowMs: number): Promise<void> {
    for (let deleted = rowsAtOnce; deleted === rowsAtOnce;) {
      const rows = await this.#use(
        async () =>
          await this.#query
            .selectFrom('responses')
            .select('id')
            .where('expires_at_ms', '<=', nowMs)
            .where(build =>
              build.not(
                build.exists(
                  build
                    .selectFrom('responses as other')
                    .select('other.id')
                    .whereRef('other.root_id', '=', 'responses.root_id')
                    .where('other.expires_at_ms', '>', nowMs)
                )
              )
            )
            .limit(rowsAtOnce)
            .execute()
      )
      await this.delete(rows.map(({ id }) => id))
      deleted = rows.length
    }
  }

  /** Deletes a hidden response that nothing continues, then those before it that become unused. */
  async deleteUnused (id: string): Promise<void> {
    let next: string | null | undefined = id
    while (next != null) next = await this.#deleteIfUnused(next)
  }

  /** Deletes a hidden response that nothing continues. @returns the one it continued, if it was deleted */
  async #deleteIfUnused (id: string): Promise<string | null | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .selectFrom('responses')
          .select('previous_id')
          .where('id', '=', id)
          .where('expires_at_ms', '=', hiddenAtMs)
          .where(build =>
            build.not(
              build.exists(
                build.selectFrom('responses as next').select('next.id').where('next.previous_id', '=', id)
              )
            )
          )
          .executeTakeFirst()
    )
    if (row !== undefined) await this.delete([id])
    return row?.previous_id
  }

  /**
   * Deletes responses and everything stored for them; the rows come last, so that another process can resume.
   */
  async delete (ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.#texts.end(ids)
    const frames = this.#query
      .selectFrom('response_events')
      .select(['response_id', 'sequence_number'])
      .where('response_id', 'in', ids)
      .limit(framesAtOnce)
    await inSteps(
      framesAtOnce,
      async () =>
        await this.#use(
          async () =>
            await this.#query
              .deleteFrom('response_events')
              .where(build =>
                build(
                  build.refTuple('response_id', 'sequence_number'),
                  'in',
                  frames.$asTuple('response_id', 'sequence_number')
                )
              )
              .returning('sequence_number')
              .execute()
        )
    )
    const items = this.#query
      .selectFrom('response_items')
      .select(['key_id', 'item_id'])
      .where('response_id', 'in', ids)
      .limit(itemsAtOnce)
    await inSteps(
      itemsAtOnce,
      async () =>
        await this.#use(
          async () =>
            await this.#query
              .deleteFrom('response_items')
              .where(build =>
                build(build.refTuple('key_id', 'item_id'), 'in', items.$asTuple('key_id', 'item_id'))
              )
              .returning('item_id')
              .execute()
        )
    )
    await this.#use(async () => await this.#query.deleteFrom('responses').where('id', 'in', ids).execute())
  }
}

/** Repeats a step, each in a separate tick, until it finds fewer rows than its maximum. */
async function inSteps (most: number, step: () => Promise<readonly unknown[]>): Promise<void> {
  while ((await step()).length === most) await yieldFairly()
}
