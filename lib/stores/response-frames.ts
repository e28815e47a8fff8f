/** Stores the streams of background responses, as the frames that are sent. */

import type { Kysely } from 'kysely'
import { splitFrames } from '../wire/sse-frames.ts'
import type { LongTexts } from './long-texts.ts'
import type { Tables } from './tables.ts'
import type { UseStore } from './use-store.ts'

/** Deletes the oldest responses of a key over its limit, after one of its responses grew. */
type MakeRoom = (keyId: string, responseId: string, addedBytes: number) => Promise<void>

/** The bytes of a write that are counted already, even if it failed afterwards. */
export interface CountedBytes { bytes: number }

export class ResponseFrames {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore
  readonly #texts: LongTexts
  readonly #makeRoom: MakeRoom

  constructor (query: Kysely<Tables>, use: UseStore, texts: LongTexts, makeRoom: MakeRoom) {
    this.#query = query
    this.#use = use
    this.#texts = texts
    this.#makeRoom = makeRoom
  }

  /**
   * Stores frames of a response's stream, starting at a number, unless the response is deleted.
   *
   * @param counted the same object when a failed write is repeated, with the same frames or more
   * @throws GatewayError `overloaded`
   */
  async add (
    responseId: string,
    from: number,
    frames: readonly string[],
    counted: CountedBytes = { bytes: 0 }
  ): Promise<void> {
    const text = frames.join('')
    const bytes = Buffer.byteLength(text)
    const row = await this.#use(
      async () =>
        await this.#query
          .updateTable('responses')
          .set(({ eb }) => ({ stream_bytes: eb('stream_bytes', '+', bytes - counted.bytes) }))
          .where('id', '=', responseId)
          .returning('key_id')
          .executeTakeFirst()
    )
    if (row === undefined) return
    counted.bytes = bytes
    const frame = await this.#texts.put(responseId, `frames-${from}`, text)
    await this.#use(
      async () =>
        await this.#query
          .insertInto('response_events')
          .values({ response_id: responseId, sequence_number: from, frame })
          .onConflict(conflict =>
            conflict.columns(['response_id', 'sequence_number']).doUpdateSet({ frame })
          )
          .execute()
    )
    await this.#makeRoom(row.key_id, responseId, bytes)
  }

  /** Returns whether a response has a stream. @throws GatewayError `overloaded` */
  async has (responseId: string): Promise<boolean> {
    return await this.#use(async () => await this.#query.selectFrom('response_events').select('response_id')
      .where('response_id', '=', responseId).limit(1).executeTakeFirst()) !== undefined
  }

  /**
   * Yields the frames of a response's stream, starting at a number; none if it has no stream. @throws
   * GatewayError `overloaded`
   */
  async * read (responseId: string, from = 0): AsyncGenerator<readonly string[], void, undefined> {
    const frames = this.#query.selectFrom('response_events').where('response_id', '=', responseId)
    const first = await this.#use(
      async () =>
        await frames
          .select(({ fn }) => fn.max<number | null>('sequence_number').as('number'))
          .where('sequence_number', '<=', from)
          .executeTakeFirst()
    )
    for (let next = first?.number ?? 0; ;) {
      const row = await this.#use(
        async () =>
          await frames
            .select(['sequence_number', 'frame'])
            .where('sequence_number', '>=', next)
            .orderBy('sequence_number')
            .limit(1)
            .executeTakeFirst()
      )
      const text = row === undefined ? undefined : await this.#texts.get(responseId, row.frame)
      if (row === undefined || text === undefined) return
      yield splitFrames(text).slice(Math.max(0, from - row.sequence_number))
      next = row.sequence_number + 1
    }
  }
}
