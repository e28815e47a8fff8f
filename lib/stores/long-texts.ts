/**
 * Keeps long texts in pieces beside the rows that they belong to; a row has a mark in the place of its text.
 *
 * SQLite works in the turn of the event loop that calls it, and writes all of a row whichever column changes.
 * In one row, a text of 6 MB took 80 ms to write and 30 whenever the row changed, and sixteen rows of 9 MB
 * took 1.6 s to delete, while all other calls waited. Each piece is written, read and deleted by a statement
 * in a turn of its own.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import { splitText } from '../text/split-text.ts'
import type { Kysely } from 'kysely'
import type { UseStore } from './use-store.ts'
import type { Tables } from './tables.ts'

/** Characters of a piece: one is written in 2 ms. */
const pieceLength = 128 * 1024
/** Longer texts are kept in pieces. */
const maxLengthInRow = 64 * 1024
/** Pieces that are deleted at once: they are overwritten. */
const deletedAtOnce = 4

/** The time for all pieces to be stored: a row that is not complete by then is of a process that died. */
export const storingMs = 3_600_000

/** Recognises what stands in a row for a text in pieces. No JSON and no event begins like that. */
const mark = /^long:([\w-]+):(\d+)$/

export function isLong (text: string): boolean {
  return text.length > maxLengthInRow
}

export class LongTexts {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (query: Kysely<Tables>, use: UseStore) {
    this.#query = query
    this.#use = use
  }

  /**
   * Stores a text, in the place of an earlier one of the same owner and name.
   *
   * @returns what its row has for it: the text itself, unless it is long
   */
  async put (ownerId: string, name: string, text: string): Promise<string> {
    return isLong(text) ? await this.putInPieces(ownerId, name, text) : text
  }

  /** Stores a text in pieces, however long it is. @returns as above */
  async putInPieces (ownerId: string, name: string, text: string): Promise<string> {
    let number = 0
    for (const piece of splitText(text, pieceLength)) {
      const row = { owner_id: ownerId, name, number: number++, piece }
      await this.#use(
        async () =>
          await this.#query
            .insertInto('text_pieces')
            .values(row)
            .onConflict(conflict => conflict.columns(['owner_id', 'name', 'number']).doUpdateSet({ piece }))
            .execute()
      )
      await yieldFairly()
    }
    return `long:${name}:${number}`
  }

  /** Returns the text that a row stands for; `undefined` when it is being deleted. */
  async get (ownerId: string, inRow: string): Promise<string | undefined> {
    const [, name, count] = mark.exec(inRow) ?? []
    if (name === undefined) return inRow
    let text = ''
    for (let number = 0; number < Number(count); number++) {
      const row = await this.#use(
        async () =>
          await this.#query
            .selectFrom('text_pieces')
            .select('piece')
            .where('owner_id', '=', ownerId)
            .where('name', '=', name)
            .where('number', '=', number)
            .executeTakeFirst()
      )
      if (row === undefined) return undefined
      text += row.piece
      await yieldFairly()
    }
    return text
  }

  /** Returns a text that has no place in the row of its owner; `undefined` where there is none. */
  async find (ownerId: string, name: string): Promise<string | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .selectFrom('text_pieces')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .where('owner_id', '=', ownerId)
          .where('name', '=', name)
          .executeTakeFirstOrThrow()
    )
    return row.count === 0 ? undefined : await this.get(ownerId, `long:${name}:${row.count}`)
  }

  /** Deletes the texts of these owners. @param names those of these names only */
  async remove (ownerIds: readonly string[], names?: readonly string[]): Promise<void> {
    if (ownerIds.length === 0) return
    const all = this.#query
      .selectFrom('text_pieces')
      .select(['owner_id', 'name', 'number'])
      .where('owner_id', 'in', ownerIds)
      .limit(deletedAtOnce)
    const some = names === undefined ? all : all.where('name', 'in', names)
    for (let deleted = deletedAtOnce; deleted === deletedAtOnce; await yieldFairly()) {
      const rows = await this.#use(
        async () =>
          await this.#query
            .deleteFrom('text_pieces')
            .where(build =>
              build(
                build.refTuple('owner_id', 'name', 'number'),
                'in',
                some.$asTuple('owner_id', 'name', 'number')
              )
            )
            .returning('number')
            .execute()
      )
      deleted = rows.length
    }
  }
}
