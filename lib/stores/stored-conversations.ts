/** Reads the input of responses: the items of a conversation, starting with its first response. */

import { sql, type Kysely } from 'kysely'
import { yieldFairly } from '../async/yield-fairly.ts'
import { GatewayError } from '../core/errors.ts'
import { append } from '../json/append.ts'
import { parseText } from '../json/parse-text.ts'
import type { LongTexts } from './long-texts.ts'
import type { ResponseRow, Tables } from './tables.ts'
import type { UseStore } from './use-store.ts'
import type {
  Continuation,
  FoundItem,
  ResponseOrigin,
  StoredItem,
  TakeMemory
} from '../dialects/responses/archive.ts'
import type { ResponseObject } from '../../schemas/responses.ts'

/** Limits on a conversation to read. */
export interface ConversationBounds {
  readonly maxItems: number
  readonly maxBytes: number
}

const conversationColumns = ['id', 'root_id', 'status', 'response', 'input', 'origin'] as const
type ConversationRow = Pick<ResponseRow, typeof conversationColumns[number]>

/** Maximum characters of a provider's item id, which is repeated in item rows. */
export const maxIdLength = 512

/** Responses whose rows are read per statement. */
const rowsAtOnce = 16

export class StoredConversations {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore
  readonly #texts: LongTexts
  readonly #now: () => number
  readonly #bounds: () => ConversationBounds

  constructor (
    query: Kysely<Tables>,
    use: UseStore,
    texts: LongTexts,
    now: () => number,
    bounds: () => ConversationBounds
  ) {
    this.#query = query
    this.#use = use
    this.#texts = texts
    this.#now = now
    this.#bounds = bounds
  }

  /** Records which response contains these items. Items with too long an id cannot be referenced. */
  async noteItems (keyId: string, responseId: string, ids: readonly string[]): Promise<void> {
    for (const part of parts(ids.filter(id => id.length <= maxIdLength))) {
      const rows = part.map(id => ({ key_id: keyId, item_id: id, response_id: responseId }))
      await this.#use(async () => await this.#query.insertInto('response_items').values(rows)
        .onConflict(conflict => conflict.columns(['key_id', 'item_id']).doNothing()).execute())
    }
  }

  async continuation (keyId: string, id: string, takeMemory?: TakeMemory): Promise<Continuation | undefined> {
    const rows = await this.#conversation(keyId, id, takeMemory)
    const newest = rows?.at(-1)
    if (rows === undefined || newest === undefined || !continuable.has(newest.status)) return undefined
    const items: StoredItem[] = []
    for (const row of rows) {
      const own = await this.#itemsOf(row, takeMemory)
      if (own === undefined) return undefined
      append(items, own.input)
      append(items, own.output)
    }
    if (items.length > this.#bounds().maxItems) throw tooLong()
    return { id, rootId: newest.root_id, items, origin: originOf(newest) }
  }

  /**
   * Returns the complete input of a response, from the first response of its conversation on; `undefined` if
   * unknown.
   *
   * @throws GatewayError `context_length_exceeded`, `overloaded`
   */
  async inputItems (
    keyId: string,
    id: string,
    takeMemory?: TakeMemory
  ): Promise<readonly StoredItem[] | undefined> {
    const rows = await this.#conversation(keyId, id, takeMemory)
    if (rows === undefined) return undefined
    const items: StoredItem[] = []
    for (const row of rows) {
      const own = await this.#itemsOf(row, takeMemory)
      if (own === undefined) return undefined
      append(items, own.input)
      if (row.id !== id) append(items, own.output)
    }
    return items
  }

  async items (
    keyId: string,
    ids: readonly string[],
    takeMemory?: TakeMemory
  ): Promise<ReadonlyMap<string, FoundItem>> {
    const found = new Map<string, FoundItem>()
    if (ids.length === 0) return found
    const wanted = new Map<string, number>()
    for (const id of ids) wanted.set(id, (wanted.get(id) ?? 0) + 1)
    const holders = new Set<string>()
    let bytes = 0
    for (const { item_id: itemId, id, size_bytes: sizeBytes } of await this.#holders(keyId, [
      ...wanted.keys()
    ])) {
      // An item that is referenced again is sent again.
      bytes += sizeBytes * ((wanted.get(itemId) ?? 1) - (holders.has(id) ? 1 : 0))
      holders.add(id)
    }
    if (bytes > this.#bounds().maxBytes) {
      throw tooLong('input', 'The items that `input` refers to are too long.')
    }
    takeMemory?.(2 * bytes) // as bytes, and as the texts of the items
    for (const holder of holders) {
      const row = await this.#use(
        async () =>
          await this.#query
            .selectFrom('responses')
            .select(conversationColumns)
            .where('id', '=', holder)
            .where('expires_at_ms', '>', this.#now())
            .executeTakeFirst()
      )
      const own = row === undefined ? undefined : await this.#itemsOf(row, takeMemory)
      if (row === undefined || own === undefined) continue
      for (const item of [...own.input, ...own.output]) {
        if (wanted.has(item.id)) found.set(item.id, { item, origin: originOf(row) })
      }
    }
    return found
  }

  /** Returns the items of a response; `undefined` if it is being deleted. */
  async #itemsOf (
    { id, input, response }: ConversationRow,
    takeMemory?: TakeMemory
  ): Promise<{ input: StoredItem[], output: StoredItem[] } | undefined> {
    const texts = [await this.#texts.get(id, input), await this.#texts.get(id, response)]
    if (texts[0] === undefined || texts[1] === undefined) return undefined
    const items = await parseText(texts[0], takeMemory) as StoredItem[] // stored by `keep`
    const { output } = await parseText(texts[1], takeMemory) as ResponseObject // stored by `keep`
    return { input: items, output: output.filter(hasId) }
  }

  /** Returns the responses that contain these items. */
  async #holders (keyId: string, itemIds: readonly string[]) {
    const holders: Array<Pick<ResponseRow, 'id' | 'size_bytes'> & { readonly item_id: string }> = []
    for (const part of parts(itemIds)) {
      const rows = await this.#use(
        async () =>
          await this.#query
            .selectFrom('response_items')
            .innerJoin('responses', 'responses.id', 'response_items.response_id')
            .select(['response_items.item_id', 'responses.id', 'responses.size_bytes'])
            .where('response_items.key_id', '=', keyId)
            .where('item_id', 'in', part)
            .execute()
      )
      for (const row of rows) holders.push(row)
    }
    return holders
  }

  /**
   * Returns the rows of a conversation up to a response, oldest first; `undefined` if the response is unknown
   * or part of the conversation is missing.
   */
  async #conversation (
    keyId: string,
    id: string,
    takeMemory?: TakeMemory
  ): Promise<ConversationRow[] | undefined> {
    const { maxItems, maxBytes } = this.#bounds()
    const links = await this.#use(async () => await this.#chain(keyId, id, maxItems)
      .selectFrom('chain').select(['id', 'previous_id', 'size_bytes']).orderBy('depth', 'desc').execute())
    const bytes = links.reduce((sum, { size_bytes: bytes }) => sum + bytes, 0)
    if (links.length > maxItems || bytes > maxBytes) throw tooLong()
    if (links[0]?.previous_id !== null) return undefined
    takeMemory?.(2 * bytes) // as bytes, and as the texts of the items
    const rows = new Map<string, ConversationRow>()
    for (const part of parts(
      links.map(({ id }) => id),
      rowsAtOnce
    )) {
      for (const row of await this.#use(
        async () =>
          await this.#query
            .selectFrom('responses')
            .select(conversationColumns)
            .where('id', 'in', part)
            .execute()
      )) {
        rows.set(row.id, row)
      }
      await yieldFairly()
    }
    const found = links.flatMap(({ id }) => rows.get(id) ?? [])
    return found.length === links.length ? found : undefined
  }

  /** Starts a query on the rows of a conversation, from a response back to the first one. */
  #chain (keyId: string, id: string, maxLinks: number) {
    const columns = [
      'responses.id',
      'responses.previous_id',
      'responses.root_id',
      'responses.status',
      'responses.size_bytes'
    ] as const
    return this.#query.withRecursive('chain(id, previous_id, root_id, status, size_bytes, depth)', query =>
      query
        .selectFrom('responses')
        .select([...columns, sql<number>`0`.as('depth')])
        .where('id', '=', id)
        .where('key_id', '=', keyId)
        .where('expires_at_ms', '>', this.#now())
        .unionAll(
          query
            .selectFrom('responses')
            .innerJoin('chain', 'chain.previous_id', 'responses.id')
            .select([...columns, sql<number>`chain.depth + 1`.as('depth')])
            .where('chain.depth', '<', maxLinks)
        )
    )
  }
}

/** Statuses of responses that others may continue. */
const continuable: ReadonlySet<string> = new Set(['completed', 'incomplete'])

/** Returns where the provider keeps a response too. */
export function originOf ({ origin }: Pick<ResponseRow, 'origin'>): ResponseOrigin | undefined {
  return origin === null ? undefined : JSON.parse(origin) as ResponseOrigin // written by `keep`
}

/**
 * Returns true for an item with an id. Other providers of this dialect may leave ids out; then nothing can
 * reference the item.
 */
export function hasId (
  item: ResponseObject['output'][number]
): item is ResponseObject['output'][number] & StoredItem {
  return typeof item.id === 'string'
}

/** Values per statement, which databases limit. */
const maxValues = 1000

/** Splits ids into lists that fit into a statement. */
export function * parts (ids: readonly string[], size = maxValues): Generator<string[]> {
  for (let start = 0; start < ids.length; start += size) yield ids.slice(start, start + size)
}

function tooLong (
  param = 'previous_response_id',
  message = 'The conversation that `previous_response_id` continues is too long.'
): GatewayError {
  return new GatewayError('context_length_exceeded', { param, message })
}
