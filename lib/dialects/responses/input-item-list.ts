/** Lists the input items of a stored response, one page at a time. */

import { invalidValue } from '../../core/errors.ts'
import type { StoredItem } from './archive.ts'
import type { InputItemList } from '../../../schemas/responses.ts'

const maxLimit = 100
const defaultLimit = 20

/**
 * Returns the page for a query: `limit`, `order` and `after`, the last id of the previous page.
 *
 * @param items in conversation order
 * @throws GatewayError `invalid_value` with the parameter
 */
export function inputItemPage (items: readonly StoredItem[], query: string): InputItemList {
  const given = new URLSearchParams(query)
  const limit = limitOf(given.get('limit'))
  const listed = orderOf(given.get('order')) === 'asc' ? items : items.toReversed()
  const start = startOf(listed, given.get('after'))
  const data = listed.slice(start, start + limit)
  return {
    object: 'list',
    data: [...data],
    first_id: data[0]?.id ?? '',
    last_id: data.at(-1)?.id ?? '',
    has_more: start + limit < listed.length
  }
}

function limitOf (given: string | null): number {
  if (given === null) return defaultLimit
  const limit = Number(given)
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit) return limit
  throw invalidValue('limit', `\`limit\` must be an integer from 1 to ${maxLimit}.`)
}

function orderOf (given: string | null): 'asc' | 'desc' {
  if (given === null || given === 'desc') return 'desc'
  if (given === 'asc') return 'asc'
  throw invalidValue('order', '`order` must be `asc` or `desc`.')
}

/** Continues after the last item with that id: callers may repeat ids, and paging must terminate. */
function startOf (listed: readonly StoredItem[], after: string | null): number {
  if (after === null) return 0
  const index = listed.findLastIndex(({ id }) => id === after)
  if (index === -1) throw invalidValue('after', '`after` must be the id of an item of this response.')
  return index + 1
}
