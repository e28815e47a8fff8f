/** Pagination of lists with cursors. */

import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { invalidValue } from '../core/errors.ts'

export interface PageRequest {
  readonly limit: number
  /** The time and id of the previous page's last entry. */
  readonly after?: { readonly ms: number, readonly id: string }
}

export interface PageOf<T> {
  readonly object: 'list'
  readonly data: T[]
  readonly next_cursor: string | null
}

const maxLimit = 200
const defaultLimit = 50

/** @throws GatewayError `invalid_value` naming the parameter */
export function pageRequest (query: URLSearchParams): PageRequest {
  const given = query.get('limit')
  const limit = given === null ? defaultLimit : Number(given)
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit) {
    throw invalidValue('limit', `\`limit\` must be an integer from 1 to ${maxLimit}.`)
  }
  const cursor = query.get('cursor')
  return cursor === null ? { limit } : { limit, after: parseCursor(cursor) }
}

/**
 * Returns the condition for entries after the previous page. The list must be ordered by the same columns.
 */
export function beyond (
  { after }: PageRequest,
  time: string,
  id: string,
  order: 'asc' | 'desc'
): RawBuilder<SqlBool> {
  if (after === undefined) return sql`1 = 1`
  return sql`(${sql.ref(time)}, ${sql.ref(id)}) ${sql.raw(order === 'asc' ? '>' : '<')} (${after.ms}, ${after.id})`
}

/**
 * Makes a page from a list with one extra entry.
 *
 * @param positionOf returns the time and id by which the list is ordered
 */
export function pageOf<Row, T> (
  rows: readonly Row[],
  { limit }: PageRequest,
  positionOf: (row: Row) => { readonly ms: number, readonly id: string },
  show: (row: Row) => T
): PageOf<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    object: 'list',
    data: shown.map(show),
    next_cursor: last === undefined || rows.length <= limit ? null : printCursor(positionOf(last))
  }
}

/** Returns a cursor for entries before a time. */
export function cursorBefore (ms: number): string {
  return printCursor({ ms, id: '' })
}

function printCursor ({ ms, id }: { readonly ms: number, readonly id: string }): string {
  return Buffer.from(`${ms} ${id}`).toString('base64url')
}

function parseCursor (cursor: string): { readonly ms: number, readonly id: string } {
  const [, ms, id] = /^(\d{1,16}) (.{0,200})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (ms === undefined || id === undefined) {
    throw invalidValue('cursor', '`cursor` must be the `next_cursor` of the previous page.')
  }
  return { ms: Number(ms), id }
}
