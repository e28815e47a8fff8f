/**
 * Stores responses of the Responses API, each for the key that made it.
 *
 * A response holds its own input and output, and refers to the one it continues: a conversation takes as much room as was said
 * in it. What was deleted or has expired is hidden at once; its row goes when no response that continues it is left.
 *
 * A response with long texts belongs to no key until all their pieces are stored.
 */

import { sql, type Kysely } from 'kysely'
import { yieldFairly } from '../async/yield-fairly.ts'
import { GatewayError } from '../core/errors.ts'
import { append } from '../json/append.ts'
import { parseText } from '../json/parse-text.ts'
import { printText } from '../json/print-in-turns.ts'
import { formatMegabytes } from '../text/format-megabytes.ts'
import { splitFrames } from '../wire/sse.ts'
import { isLong, LongTexts, storingMs } from './long-texts.ts'
import { storeUser, type UseStore } from './use-store.ts'
import type { Database } from './database.ts'
import type { Lease } from './lease.ts'
import type { ResponseRow, Tables } from './tables.ts'
import type { Continuation, FoundItem, ResponseArchive, ResponseOrigin, ResponseToKeep, StoredItem, TakeMemory } from '../dialects/responses/archive.ts'
import type { ResponseObject } from '../../schemas/responses.ts'

export interface ResponseStoreOptions {
  readonly keeps: boolean
  /** Time a response is kept. */
  readonly keepMs: number
  /** Bytes kept for one key. */
  readonly maxBytesPerKey: number
  /** Bytes of the body of a call that is kept, and of its response. */
  readonly maxBodyBytes: number
  /** Bounds of a conversation that is read. */
  readonly maxItems: number
  readonly maxBytes: number
}

const conversationColumns = ['id', 'root_id', 'status', 'response', 'input', 'origin'] as const
type ConversationRow = Pick<ResponseRow, typeof conversationColumns[number]>

const inProgress: readonly string[] = ['queued', 'in_progress']

/** A key's size is counted again when this part of the bound was added. */
const recountShare = 1 / 16

/** Responses that are hidden at once when a key has too many, and those of which the rows are read or deleted at once. */
const rowsAtOnce = 16
/** Items, and frames of a stream, that are deleted at once. */
const itemsAtOnce = 1000
const framesAtOnce = 16

/** A response that was deleted here. */
export interface RemovedResponse {
  /** Absent where no provider keeps it. */
  readonly origin: ResponseOrigin | undefined
}

export class ResponseStore implements ResponseArchive {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore
  readonly #texts: LongTexts
  readonly #options: () => ResponseStoreOptions
  /** Returns the time by the clock that leases and expiries are compared with. */
  readonly now: () => number
  /** Bytes that were added for a key since it was counted. */
  readonly #added = new Map<string, number>()

  /** @param options read anew each time: they may change */
  constructor (database: Pick<Database, 'query' | 'storeFileIntact' | 'now'>, options: () => ResponseStoreOptions) {
    this.#query = database.query
    this.now = database.now
    this.#use = storeUser(database, 'Stored responses')
    this.#texts = new LongTexts(this.#query, this.#use)
    this.#options = options
  }

  get keeps (): boolean {
    return this.#options().keeps
  }

  get maxBodyBytes (): number {
    return this.#options().maxBodyBytes
  }

  async keep (given: ResponseToKeep): Promise<void> {
    await this.#insert(given)
  }

  async #insert ({ keyId, previous, response, input, itemIds, origin }: ResponseToKeep, lease?: Lease): Promise<void> {
    const [responseText, inputText] = [await this.#printed(response), await this.#printed(input)]
    const sizeBytes = Buffer.byteLength(responseText) + Buffer.byteLength(inputText)
    const nowMs = this.now()
    const complete = { key_id: keyId, response: responseText, input: inputText, expires_at_ms: nowMs + this.#options().keepMs }
    const inPieces = isLong(responseText) || isLong(inputText)
    const inserted = await this.#use(async () => await this.#query.insertInto('responses').values({
      id: response.id,
      previous_id: previous?.id ?? null,
      root_id: previous?.rootId ?? response.id,
      status: response.status,
      ...inPieces ? { key_id: '', response: '', input: '', expires_at_ms: nowMs + storingMs } : complete,
      origin: origin === undefined ? null : JSON.stringify(origin),
      size_bytes: sizeBytes,
      created_at_ms: nowMs,
      owner: lease?.owner ?? null,
      lease_until_ms: lease?.untilMs ?? 0
    }).onConflict(conflict => conflict.column('id').doNothing()).returning('id').executeTakeFirst())
    if (inserted === undefined) return
    if (inPieces) {
      const texts = { response: await this.#texts.put(response.id, response.status, responseText), input: await this.#texts.put(response.id, 'input', inputText) }
      const shown = await this.#use(async () => await this.#query.updateTable('responses').set({ ...complete, ...texts }).where('id', '=', response.id).returning('id').executeTakeFirst())
      if (shown === undefined) return await this.#texts.remove([response.id]) // it took too long
    }
    await this.#noteItems(keyId, response.id, itemIds)
    await this.#makeRoom(keyId, sizeBytes)
  }

  /**
   * Stores a response whose work begins: it belongs to a process until it has ended.
   *
   * @throws GatewayError `file_too_large`, `overloaded`
   */
  async begin (given: ResponseToKeep, lease: Lease): Promise<void> {
    await this.#insert(given, lease)
  }

  /**
   * Replaces a response that is in progress.
   *
   * @returns false when it was cancelled, deleted, or is another process's
   */
  async update (response: ResponseObject, owner: string): Promise<boolean> {
    return await this.#replace(response, await printText(response), owner)
  }

  /**
   * Replaces a response that is in progress by what became of it.
   *
   * @param origin of one that its provider keeps as well
   * @returns false as `update` does
   * @throws GatewayError `file_too_large` for one that is larger than what is stored, which is still in progress then
   */
  async finish (response: ResponseObject, owner: string, origin?: ResponseOrigin): Promise<boolean> {
    return await this.#replace(response, await this.#printed(response), owner, origin)
  }

  async #replace (response: ResponseObject, text: string, owner: string, origin?: ResponseOrigin): Promise<boolean> {
    const { id, status } = response
    const isOpen = inProgress.includes(status)
    const inRow = await this.#texts.put(id, status, text)
    const row = await this.#use(async () => await this.#query.updateTable('responses')
      .set(({ eb }) => ({
        status, response: inRow, origin: origin === undefined ? null : JSON.stringify(origin), ...!isOpen && { owner: null, size_bytes: eb('size_bytes', '+', Buffer.byteLength(text)) }
      }))
      .where('id', '=', id).where('owner', '=', owner).where('status', 'in', inProgress).returning('key_id').executeTakeFirst())
    if (row === undefined) return false
    if (!isOpen) {
      await this.#texts.remove([id], inProgress)
      await this.#noteItems(row.key_id, id, response.output.filter(hasId).map(({ id }) => id))
    }
    return true
  }

  /** @throws GatewayError `file_too_large` */
  async #printed (value: unknown): Promise<string> {
    const { maxBodyBytes } = this.#options()
    return await printText(value, bytes => {
      if (bytes > maxBodyBytes) throw new GatewayError('file_too_large', { message: `The response is larger than ${formatMegabytes(maxBodyBytes)}, the most that is stored.` })
    })
  }

  /** Ends a response in progress of any process. @returns it as it is then. @throws GatewayError `overloaded` */
  async cancel (keyId: string, response: ResponseObject): Promise<ResponseObject | undefined> {
    const text = await printText({ ...response, status: 'cancelled' } satisfies ResponseObject)
    const inRow = await this.#texts.put(response.id, 'cancelled', text)
    await this.#use(async () => await this.#query.updateTable('responses').set({ status: 'cancelled', response: inRow, owner: null })
      .where('id', '=', response.id).where('key_id', '=', keyId).where('status', 'in', inProgress).execute())
    return await this.find(keyId, response.id)
  }

  /** Renews the leases of a process. @returns the ids that it still has */
  async renew ({ owner, untilMs }: Lease): Promise<ReadonlySet<string>> {
    const rows = await this.#use(async () => await this.#query.updateTable('responses').set({ lease_until_ms: untilMs })
      .where('owner', '=', owner).where('status', 'in', inProgress).returning('id').execute())
    return new Set(rows.map(({ id }) => id))
  }

  /** Ends the responses whose process is dead, as `failed`. @param error what they say */
  async failOrphans (nowMs: number, error: ResponseObject['error']): Promise<void> {
    const rows = await this.#use(async () => await this.#query.selectFrom('responses').select(['id', 'key_id', 'owner'])
      .where('owner', 'is not', null).where('lease_until_ms', '<=', nowMs).where('status', 'in', inProgress).execute())
    for (const row of rows) {
      const response = await this.find(row.key_id, row.id)
      if (row.owner !== null && response !== undefined) await this.update({ ...response, status: 'failed', error }, row.owner)
    }
  }

  /** Stores frames of the stream of a response, from a number on. @throws GatewayError `overloaded` */
  async addFrames (responseId: string, from: number, frames: readonly string[]): Promise<void> {
    const text = frames.join('')
    const frame = await this.#texts.put(responseId, `frames-${from}`, text)
    await this.#use(async () => await this.#query.insertInto('response_events').values({ response_id: responseId, sequence_number: from, frame })
      .onConflict(conflict => conflict.columns(['response_id', 'sequence_number']).doUpdateSet({ frame })).execute())
    await this.#use(async () => await this.#query.updateTable('responses').set(({ eb }) => ({ stream_bytes: eb('stream_bytes', '+', Buffer.byteLength(text)) }))
      .where('id', '=', responseId).execute())
  }

  /** Says whether a response has a stream. @throws GatewayError `overloaded` */
  async hasStream (responseId: string): Promise<boolean> {
    return await this.#use(async () => await this.#query.selectFrom('response_events').select('response_id')
      .where('response_id', '=', responseId).limit(1).executeTakeFirst()) !== undefined
  }

  /** Yields the frames of the stream of a response, from a number on; none for one that has no stream. @throws GatewayError `overloaded` */
  async * frames (responseId: string, from = 0): AsyncGenerator<readonly string[], void, undefined> {
    const frames = this.#query.selectFrom('response_events').where('response_id', '=', responseId)
    const first = await this.#use(async () => await frames.select(({ fn }) => fn.max<number | null>('sequence_number').as('number'))
      .where('sequence_number', '<=', from).executeTakeFirst())
    for (let next = first?.number ?? 0; ;) {
      const row = await this.#use(async () => await frames.select(['sequence_number', 'frame']).where('sequence_number', '>=', next)
        .orderBy('sequence_number').limit(1).executeTakeFirst())
      const text = row === undefined ? undefined : await this.#texts.get(responseId, row.frame)
      if (row === undefined || text === undefined) return
      yield splitFrames(text).slice(Math.max(0, from - row.sequence_number))
      next = row.sequence_number + 1
    }
  }

  /** Returns the status of a response of a key, unless it is hidden. @throws GatewayError `overloaded` */
  async status (keyId: string, id: string): Promise<string | undefined> {
    const row = await this.#use(async () => await this.#query.selectFrom('responses').select('status')
      .where('id', '=', id).where('key_id', '=', keyId).where('expires_at_ms', '>', this.now()).executeTakeFirst())
    return row?.status
  }

  /** Returns the text of a response of a key, unless it is hidden. @throws GatewayError `overloaded` */
  async findText (keyId: string, id: string, takeMemory?: TakeMemory): Promise<string | undefined> {
    const row = await this.#use(async () => await this.#query.selectFrom('responses').select(['response', 'size_bytes'])
      .where('id', '=', id).where('key_id', '=', keyId).where('expires_at_ms', '>', this.now()).executeTakeFirst())
    if (row === undefined) return undefined
    takeMemory?.(row.size_bytes)
    return await this.#texts.get(id, row.response)
  }

  /** Returns a response of a key, unless it is hidden. @throws GatewayError `overloaded` */
  async find (keyId: string, id: string, takeMemory?: TakeMemory): Promise<ResponseObject | undefined> {
    const text = await this.findText(keyId, id, takeMemory)
    return text === undefined ? undefined : await parseText(text, takeMemory) as ResponseObject // stored by `keep`
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
    if (items.length > this.#options().maxItems) throw tooLong()
    return { id, rootId: newest.root_id, items, origin: originOf(newest) }
  }

  /**
   * Returns all that a response was made of, from the first response of its conversation on; `undefined` for one that is unknown.
   *
   * @throws GatewayError `context_length_exceeded`, `overloaded`
   */
  async inputItems (keyId: string, id: string, takeMemory?: TakeMemory): Promise<readonly StoredItem[] | undefined> {
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

  async items (keyId: string, ids: readonly string[], takeMemory?: TakeMemory): Promise<ReadonlyMap<string, FoundItem>> {
    const found = new Map<string, FoundItem>()
    if (ids.length === 0) return found
    const wanted = new Map<string, number>()
    for (const id of ids) wanted.set(id, (wanted.get(id) ?? 0) + 1)
    const holders = new Set<string>()
    let bytes = 0
    for (const { item_id: itemId, id, size_bytes: sizeBytes } of await this.#holders(keyId, [...wanted.keys()])) {
      // An item that is named again is sent again.
      bytes += sizeBytes * ((wanted.get(itemId) ?? 1) - (holders.has(id) ? 1 : 0))
      holders.add(id)
    }
    if (bytes > this.#options().maxBytes) throw tooLong('input', 'The items that `input` refers to are too long.')
    takeMemory?.(2 * bytes) // as bytes, and as the texts of the items
    for (const holder of holders) {
      const row = await this.#use(async () => await this.#query.selectFrom('responses').select(conversationColumns)
        .where('id', '=', holder).where('expires_at_ms', '>', this.now()).executeTakeFirst())
      const own = row === undefined ? undefined : await this.#itemsOf(row, takeMemory)
      if (row === undefined || own === undefined) continue
      for (const item of [...own.input, ...own.output]) {
        if (wanted.has(item.id)) found.set(item.id, { item, origin: originOf(row) })
      }
    }
    return found
  }

  /** Returns the items of a response; `undefined` when it is being deleted. */
  async #itemsOf ({ id, input, response }: ConversationRow, takeMemory?: TakeMemory): Promise<{ input: StoredItem[], output: StoredItem[] } | undefined> {
    const texts = [await this.#texts.get(id, input), await this.#texts.get(id, response)]
    if (texts[0] === undefined || texts[1] === undefined) return undefined
    const items = await parseText(texts[0], takeMemory) as StoredItem[] // stored by `keep`
    const { output } = await parseText(texts[1], takeMemory) as ResponseObject // as above
    return { input: items, output: output.filter(hasId) }
  }

  /** Deletes a response of a key. @returns where its provider keeps it as well; `undefined` when there is none. @throws GatewayError `overloaded` */
  async remove (keyId: string, id: string): Promise<RemovedResponse | undefined> {
    const hidden = await this.#use(async () => await this.#query.updateTable('responses').set({ expires_at_ms: 0 })
      .where('id', '=', id).where('key_id', '=', keyId).where('expires_at_ms', '>', this.now()).returning('origin').executeTakeFirst())
    if (hidden === undefined) return undefined
    let next: string | null | undefined = id
    while (next != null) next = await this.#dropUnused(next)
    return { origin: originOf(hidden) }
  }

  /** Deletes conversations of which every response has expired. @throws GatewayError `overloaded` */
  async expire (nowMs: number): Promise<void> {
    for (let deleted = rowsAtOnce; deleted === rowsAtOnce;) {
      const rows = await this.#use(async () => await this.#query.selectFrom('responses').select('id').where('expires_at_ms', '<=', nowMs)
        .where(build => build.not(build.exists(build.selectFrom('responses as other').select('other.id')
          .whereRef('other.root_id', '=', 'responses.root_id').where('other.expires_at_ms', '>', nowMs)))).limit(rowsAtOnce).execute())
      await this.#drop(rows.map(({ id }) => id))
      deleted = rows.length
    }
  }

  /** Deletes a hidden response that nothing continues. @returns the one that it continued, if it was deleted */
  async #dropUnused (id: string): Promise<string | null | undefined> {
    const row = await this.#use(async () => await this.#query.selectFrom('responses').select('previous_id').where('id', '=', id).where('expires_at_ms', '=', 0)
      .where(build => build.not(build.exists(build.selectFrom('responses as next').select('next.id').where('next.previous_id', '=', id))))
      .executeTakeFirst())
    if (row !== undefined) await this.#drop([id])
    return row?.previous_id
  }

  /** Deletes hidden responses: their rows last, so that another process can go on. */
  async #drop (ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.#texts.remove(ids)
    const frames = this.#query.selectFrom('response_events').select(['response_id', 'sequence_number']).where('response_id', 'in', ids).limit(framesAtOnce)
    await inSteps(framesAtOnce, async () => await this.#use(async () => await this.#query.deleteFrom('response_events')
      .where(build => build(build.refTuple('response_id', 'sequence_number'), 'in', frames.$asTuple('response_id', 'sequence_number')))
      .returning('sequence_number').execute()))
    const items = this.#query.selectFrom('response_items').select(['key_id', 'item_id']).where('response_id', 'in', ids).limit(itemsAtOnce)
    await inSteps(itemsAtOnce, async () => await this.#use(async () => await this.#query.deleteFrom('response_items')
      .where(build => build(build.refTuple('key_id', 'item_id'), 'in', items.$asTuple('key_id', 'item_id')))
      .returning('item_id').execute()))
    await this.#use(async () => await this.#query.deleteFrom('responses').where('id', 'in', ids).execute())
  }

  async #noteItems (keyId: string, responseId: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    for (const part of parts(ids)) {
      const rows = part.map(id => ({ key_id: keyId, item_id: id, response_id: responseId }))
      await this.#use(async () => await this.#query.insertInto('response_items').values(rows)
        .onConflict(conflict => conflict.columns(['key_id', 'item_id']).doNothing()).execute())
    }
  }

  /** Returns where these items are. */
  async #holders (keyId: string, itemIds: readonly string[]) {
    const holders: Array<Pick<ResponseRow, 'id' | 'size_bytes'> & { readonly item_id: string }> = []
    for (const part of parts(itemIds)) {
      const rows = await this.#use(async () => await this.#query.selectFrom('response_items').innerJoin('responses', 'responses.id', 'response_items.response_id')
        .select(['response_items.item_id', 'responses.id', 'responses.size_bytes'])
        .where('response_items.key_id', '=', keyId).where('item_id', 'in', part).execute())
      for (const row of rows) holders.push(row)
    }
    return holders
  }

  /** Hides the oldest responses of a key until the rest is within the bound; sums are made once in a while only. */
  async #makeRoom (keyId: string, sizeBytes: number): Promise<void> {
    const { maxBytesPerKey } = this.#options()
    const added = (this.#added.get(keyId) ?? maxBytesPerKey) + sizeBytes
    if (added < maxBytesPerKey * recountShare) {
      this.#added.set(keyId, added)
      return
    }
    this.#added.set(keyId, 0)
    while (await this.#keptBytes(keyId) > maxBytesPerKey) {
      await this.#use(async () => await this.#query.updateTable('responses').set({ expires_at_ms: 0 })
        .where('id', 'in', query => query.selectFrom('responses').select('id').where('key_id', '=', keyId).where('expires_at_ms', '>', 0)
          .orderBy('created_at_ms').limit(rowsAtOnce)).execute())
      await this.expire(this.now())
    }
  }

  async #keptBytes (keyId: string): Promise<number> {
    const { bytes } = await this.#use(async () => await this.#query.selectFrom('responses')
      .select(({ fn, eb }) => fn.sum<number | null>(eb('size_bytes', '+', eb.ref('stream_bytes'))).as('bytes')).where('key_id', '=', keyId).executeTakeFirstOrThrow())
    return bytes ?? 0
  }

  /**
   * Returns the rows of a conversation up to a response, the first one first; `undefined` for a response that is unknown, and
   * for a conversation of which a part is lost.
   */
  async #conversation (keyId: string, id: string, takeMemory?: TakeMemory): Promise<ConversationRow[] | undefined> {
    const { maxItems, maxBytes } = this.#options()
    const links = await this.#use(async () => await this.#chain(keyId, id, maxItems)
      .selectFrom('chain').select(['id', 'previous_id', 'size_bytes']).orderBy('depth', 'desc').execute())
    const bytes = links.reduce((sum, { size_bytes: bytes }) => sum + bytes, 0)
    if (links.length > maxItems || bytes > maxBytes) throw tooLong()
    if (links[0]?.previous_id !== null) return undefined
    takeMemory?.(2 * bytes) // as bytes, and as the texts of the items
    const rows = new Map<string, ConversationRow>()
    for (const part of parts(links.map(({ id }) => id), rowsAtOnce)) {
      for (const row of await this.#use(async () => await this.#query.selectFrom('responses').select(conversationColumns).where('id', 'in', part).execute())) rows.set(row.id, row)
      await yieldFairly()
    }
    const found = links.flatMap(({ id }) => rows.get(id) ?? [])
    return found.length === links.length ? found : undefined
  }

  /** Begins a query on the rows of a conversation, from a response back to the first one. */
  #chain (keyId: string, id: string, maxLinks: number) {
    const columns = ['responses.id', 'responses.previous_id', 'responses.root_id', 'responses.status', 'responses.size_bytes'] as const
    return this.#query.withRecursive('chain(id, previous_id, root_id, status, size_bytes, depth)', query => query.selectFrom('responses')
      .select([...columns, sql<number>`0`.as('depth')])
      .where('id', '=', id).where('key_id', '=', keyId).where('expires_at_ms', '>', this.now())
      .unionAll(query.selectFrom('responses').innerJoin('chain', 'chain.previous_id', 'responses.id')
        .select([...columns, sql<number>`chain.depth + 1`.as('depth')]).where('chain.depth', '<', maxLinks)))
  }
}

/** Statuses of responses that others may continue. */
const continuable: ReadonlySet<string> = new Set(['completed', 'incomplete'])

function originOf ({ origin }: Pick<ResponseRow, 'origin'>): ResponseOrigin | undefined {
  return origin === null ? undefined : JSON.parse(origin) as ResponseOrigin // as above
}

/** Other providers of this dialect may leave the id of an item out; it cannot be referred to. */
function hasId (item: ResponseObject['output'][number]): item is ResponseObject['output'][number] & StoredItem {
  return typeof item.id === 'string'
}

/** Deletes until a step finds fewer rows than it would delete, each step in a turn of its own. */
async function inSteps (most: number, step: () => Promise<readonly unknown[]>): Promise<void> {
  while ((await step()).length === most) await yieldFairly()
}

/** Values of one statement: databases bound their number. */
const maxValues = 1000

function * parts (ids: readonly string[], size = maxValues): Generator<string[]> {
  for (let start = 0; start < ids.length; start += size) yield ids.slice(start, start + size)
}

function tooLong (
  param = 'previous_response_id', message = 'The conversation that `previous_response_id` continues is too long.'
): GatewayError {
  return new GatewayError('context_length_exceeded', { param, message })
}
