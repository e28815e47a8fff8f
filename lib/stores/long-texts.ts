/**
 * Keeps long texts in pieces beside the rows that they belong to; a row has a mark in the place of its text.
 *
 * SQLite works in the turn of the event loop that calls it, and writes all of a row whichever column changes.
 * In one row, a text of 6 MB took 80 ms to write and 30 whenever the row changed, and sixteen rows of 9 MB
 * took 1.6 s to delete, while all other calls waited. Each piece is written, read and deleted by a statement
 * in a turn of its own.
 *
 * A row that is to be deleted is marked first, and a marked row gets no more pieces: a text that is written
 * while its owner is deleted leaves nothing behind, and neither does a process that dies meanwhile.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import { splitText } from '../text/split-text.ts'
import type { Kysely } from 'kysely'
import type { Database } from './database.ts'
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

/** The tables whose rows have long texts. */
export type TextOwners = 'responses' | 'deferred' | 'call_bodies'

export class LongTexts {
  readonly #query: Kysely<Tables>
  readonly #lockRows: Database['lockRows']
  readonly #use: UseStore
  readonly #owners: TextOwners

  constructor (
    { query, lockRows }: Pick<Database, 'query' | 'lockRows'>,
    use: UseStore,
    owners: TextOwners
  ) {
    this.#query = query
    this.#lockRows = lockRows
    this.#use = use
    this.#owners = owners
  }

  /**
   * Stores a text, in the place of an earlier one of the same owner and name. Nothing is stored of a long
   * one whose owner is gone, or marked.
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
      await this.#use(async () => await this.#insert(ownerId, name, number, piece))
      number++
      await yieldFairly()
    }
    return `long:${name}:${number}`
  }

  /** With the lock of its row an owner is not marked before the piece can be seen. */
  async #insert (ownerId: string, name: string, number: number, piece: string): Promise<void> {
    const owner = this.#lockRows(this.#unmarked(ownerId))
    await this.#query
      .insertInto('text_pieces')
      .columns(['owner_id', 'name', 'number', 'piece'])
      .expression(
        owner.select(build => [
          'id',
          build.cast<string>(build.val(name), 'text').as('name'),
          build.cast<number>(build.val(number), 'bigint').as('number'),
          build.cast<string>(build.val(piece), 'text').as('piece')
        ])
      )
      .onConflict(conflict => conflict.columns(['owner_id', 'name', 'number']).doUpdateSet({ piece }))
      .execute()
  }

  #unmarked (id: string) {
    const rows = this.#query.selectFrom(this.#owners).where('id', '=', id)
    return this.#owners === 'call_bodies'
      ? rows.where('state', '=', 'storing')
      : rows.where('expires_at_ms', '>', 0)
  }

  /**
   * Deletes the texts of owners that are to be deleted, or emptied, and marks their rows: no other text of
   * theirs is stored.
   */
  async end (ownerIds: readonly string[]): Promise<void> {
    if (ownerIds.length === 0) return
    await this.#use(async () => await this.#mark(ownerIds))
    await this.remove(ownerIds)
  }

  async #mark (ownerIds: readonly string[]): Promise<void> {
    const marking = this.#owners === 'call_bodies'
      ? this.#query
          .updateTable('call_bodies')
          .set({ state: 'expired', request: null, answer: null })
          .where('id', 'in', ownerIds)
      : this.#query.updateTable(this.#owners).set({ expires_at_ms: 0 }).where('id', 'in', ownerIds)
    await marking.execute()
  }

  /** Returns the text that a row stands for; `undefined` when it is being deleted. */
  async get (ownerId: string, inRow: string): Promise<string | undefined> {
    return await readLongText(this.#query, this.#use, ownerId, inRow)
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

/** Returns the text that a row stands for; `undefined` when it is being deleted. */
export async function readLongText (
  query: Kysely<Tables>,
  use: UseStore,
  ownerId: string,
  inRow: string
): Promise<string | undefined> {
  const [, name, count] = mark.exec(inRow) ?? []
  if (name === undefined) return inRow
  let text = ''
  for (let number = 0; number < Number(count); number++) {
    const row = await use(
      async () =>
        await query
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
