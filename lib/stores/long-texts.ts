/**
 * Stores long texts in pieces outside the rows that own them; the row has a reference in place of the text.
 *
 * SQLite blocks the event loop and rewrites the whole row when any column changes. As a single row, a text of
 * 6 MB took 80 ms to write and 30 ms on each change, and deleting sixteen rows of 9 MB took 1.6 s, during
 * which all calls waited. Each piece is written, read and deleted by a separate statement in a separate tick.
 *
 * A row to be deleted is marked first, and marked rows get no more pieces. So a text written while its owner
 * is being deleted leaves nothing behind, even if the process dies.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import { splitText } from '../text/split-text.ts'
import type { Kysely } from 'kysely'
import type { Database } from './database.ts'
import type { UseStore } from './use-store.ts'
import type { Tables } from './tables.ts'

/** Characters per piece, which takes 2 ms to write. */
const pieceLength = 128 * 1024
/** Longer texts are stored in pieces. */
const maxLengthInRow = 64 * 1024
/** Pieces deleted per statement; deleted data is overwritten. */
const deletedAtOnce = 4

/**
 * Time limit for storing all pieces, in milliseconds. A row still incomplete then belongs to a dead process.
 */
export const storingMs = 3_600_000

/** The reference in a row to a text in pieces. No JSON and no event starts like this. */
const mark = /^long:([\w-]+):(\d+)$/

export function isLong (text: string): boolean {
  return text.length > maxLengthInRow
}

/** The tables whose rows own long texts. */
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
   * Stores a text, replacing the owner's earlier text of the same name. Long texts of a deleted or marked
   * owner are not stored.
   *
   * @returns the value for the row: the text itself, or a reference to a long one
   */
  async put (ownerId: string, name: string, text: string): Promise<string> {
    return isLong(text) ? await this.putInPieces(ownerId, name, text) : text
  }

  /** Stores a text of any length in pieces. @returns the reference to it, for the row */
  async putInPieces (ownerId: string, name: string, text: string): Promise<string> {
    let number = 0
    for (const piece of splitText(text, pieceLength)) {
      await this.#use(async () => await this.#insert(ownerId, name, number, piece))
      number++
      await yieldFairly()
    }
    return `long:${name}:${number}`
  }

  /** The row lock keeps the owner from being marked until the piece is visible. */
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
   * Deletes the texts of owners about to be deleted or emptied, and marks their rows so that no more texts
   * are stored for them.
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

  /** Returns the text for the value of a row; `undefined` if it is being deleted. */
  async get (ownerId: string, inRow: string): Promise<string | undefined> {
    return await readLongText(this.#query, this.#use, ownerId, inRow)
  }

  /** Returns a text that no column of its owner refers to; `undefined` if there is none. */
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

  /** Deletes the texts of these owners. @param names limits it to texts with these names */
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

/** Returns the text for the value of a row; `undefined` if it is being deleted. */
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
