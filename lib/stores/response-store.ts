/**
 * Stores responses of the Responses API, each for the key that made it.
 *
 * A response holds its own input and output, and refers to the one it continues: a conversation takes as much room as was said
 * in it. What was deleted or has expired is hidden at once; its row goes when no response that continues it is left.
 */

import { sql, type Kysely } from 'kysely'
import { GatewayError } from '../core/errors.ts'
import { splitFrames } from '../wire/sse.ts'
import { storeUser, type UseStore } from './use-store.ts'
import type { Database } from './database.ts'
import type { Lease } from './lease.ts'
import type { ResponseRow, Tables } from './tables.ts'
import type { Continuation, FoundItem, ResponseArchive, ResponseOrigin, ResponseToKeep, StoredItem } from '../dialects/responses/archive.ts'
import type { ResponseObject } from '../../schemas/responses.ts'

export interface ResponseStoreOptions {
  readonly keeps: boolean
  /** Time a response is kept. */
  readonly keepMs: number
  /** Bytes kept for one key. */
  readonly maxBytesPerKey: number
  /** Bytes of the body of a call that is kept. */
  readonly maxBodyBytes: number
  /** Bounds of a conversation that is read. */
  readonly maxItems: number
  readonly maxBytes: number
}

const inProgress: readonly string[] = ['queued', 'in_progress']

/** A key's size is counted again when this part of the bound was added. */
const recountShare = 1 / 16

/** Responses that are deleted at once when a key has too many. */
const evictedAtOnce = 16

export class ResponseStore implements ResponseArchive {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore
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
    const texts = { response: JSON.stringify(response), input: JSON.stringify(input) }
    const sizeBytes = Buffer.byteLength(texts.response) + Buffer.byteLength(texts.input)
    const nowMs = this.now()
    const row: ResponseRow = {
      id: response.id,
      key_id: keyId,
      previous_id: previous?.id ?? null,
      root_id: previous?.rootId ?? response.id,
      status: response.status,
      ...texts,
      origin: origin === undefined ? null : JSON.stringify(origin),
      size_bytes: sizeBytes,
      created_at_ms: nowMs,
      expires_at_ms: nowMs + this.#options().keepMs,
      owner: lease?.owner ?? null,
      lease_until_ms: lease?.untilMs ?? 0
    }
    await this.#use(async () => await this.#query.insertInto('responses').values(row)
      .onConflict(conflict => conflict.column('id').doNothing()).execute())
    await this.#noteItems(keyId, response.id, itemIds)
    await this.#makeRoom(keyId, sizeBytes)
  }

  /** Stores a response whose work begins: it belongs to a process until it has ended. @throws GatewayError `overloaded` */
  async begin (given: ResponseToKeep, lease: Lease): Promise<void> {
    await this.#insert(given, lease)
  }

  /**
   * Replaces a response that is in progress.
   *
   * @param origin of one that its provider keeps as well
   * @returns false when it was cancelled, deleted, or is another process's
   */
  async update (response: ResponseObject, owner: string, origin?: ResponseOrigin): Promise<boolean> {
    const isOpen = inProgress.includes(response.status)
    const text = JSON.stringify(response)
    const row = await this.#use(async () => await this.#query.updateTable('responses')
      .set(({ eb }) => ({
        status: response.status, response: text, origin: origin === undefined ? null : JSON.stringify(origin), ...!isOpen && { owner: null, size_bytes: eb('size_bytes', '+', Buffer.byteLength(text)) }
      }))
      .where('id', '=', response.id).where('owner', '=', owner).where('status', 'in', inProgress).returning('key_id').executeTakeFirst())
    if (row === undefined) return false
    if (!isOpen) await this.#noteItems(row.key_id, response.id, outputOf({ response: text }).map(({ id }) => id))
    return true
  }

  /** Ends a response in progress of any process. @returns it as it is then. @throws GatewayError `overloaded` */
  async cancel (keyId: string, response: ResponseObject): Promise<ResponseObject | undefined> {
    const text = JSON.stringify({ ...response, status: 'cancelled' } satisfies ResponseObject)
    await this.#use(async () => await this.#query.updateTable('responses').set({ status: 'cancelled', response: text, owner: null })
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
    const rows = await this.#use(async () => await this.#query.selectFrom('responses').select(['id', 'owner', 'response'])
      .where('owner', 'is not', null).where('lease_until_ms', '<=', nowMs).where('status', 'in', inProgress).execute())
    for (const row of rows) {
      if (row.owner !== null) await this.update({ ...responseOf(row), status: 'failed', error }, row.owner)
    }
  }

  /** Stores frames of the stream of a response, from a number on. @throws GatewayError `overloaded` */
  async addFrames (responseId: string, from: number, frames: readonly string[]): Promise<void> {
    const row = { response_id: responseId, sequence_number: from, frame: frames.join('') }
    await this.#use(async () => await this.#query.insertInto('response_events').values(row)
      .onConflict(conflict => conflict.columns(['response_id', 'sequence_number']).doUpdateSet({ frame: row.frame })).execute())
  }

  /** Returns the frames of the stream of a response; none for one that has no stream. @throws GatewayError `overloaded` */
  async frames (responseId: string): Promise<readonly string[]> {
    const rows = await this.#use(async () => await this.#query.selectFrom('response_events').select('frame')
      .where('response_id', '=', responseId).orderBy('sequence_number').execute())
    return rows.flatMap(({ frame }) => splitFrames(frame))
  }

  /** Returns a response of a key, unless it is hidden. @throws GatewayError `overloaded` */
  async find (keyId: string, id: string): Promise<ResponseObject | undefined> {
    const row = await this.#use(async () => await this.#query.selectFrom('responses').select('response')
      .where('id', '=', id).where('key_id', '=', keyId).where('expires_at_ms', '>', this.now()).executeTakeFirst())
    return row === undefined ? undefined : responseOf(row)
  }

  async continuation (keyId: string, id: string): Promise<Continuation | undefined> {
    const rows = await this.#conversation(keyId, id)
    const newest = rows?.at(-1)
    if (rows === undefined || newest === undefined || !continuable.has(newest.status)) return undefined
    const items = rows.flatMap(row => [...inputOf(row), ...outputOf(row)])
    if (items.length > this.#options().maxItems) throw tooLong()
    return { id, rootId: newest.root_id, items, origin: originOf(newest) }
  }

  /**
   * Returns all that a response was made of, from the first response of its conversation on; `undefined` for one that is unknown.
   *
   * @throws GatewayError `context_length_exceeded`, `overloaded`
   */
  async inputItems (keyId: string, id: string): Promise<readonly StoredItem[] | undefined> {
    const rows = await this.#conversation(keyId, id)
    return rows?.flatMap((row, index) => [...inputOf(row), ...index + 1 === rows.length ? [] : outputOf(row)])
  }

  async items (keyId: string, ids: readonly string[]): Promise<ReadonlyMap<string, FoundItem>> {
    const found = new Map<string, FoundItem>()
    if (ids.length === 0) return found
    const wanted = new Set(ids)
    let bytes = 0
    for (const holder of await this.#holders(keyId, [...wanted])) {
      bytes += holder.size_bytes
      if (bytes > this.#options().maxBytes) throw tooLong('input', 'The items that `input` refers to are too long.')
      const row = await this.#use(async () => await this.#query.selectFrom('responses').select(['response', 'input', 'origin'])
        .where('id', '=', holder.id).where('expires_at_ms', '>', this.now()).executeTakeFirst())
      if (row === undefined) continue
      for (const item of [...inputOf(row), ...outputOf(row)]) {
        if (wanted.has(item.id)) found.set(item.id, { item, origin: originOf(row) })
      }
    }
    return found
  }

  /** Deletes a response of a key. @returns false when there is none. @throws GatewayError `overloaded` */
  async remove (keyId: string, id: string): Promise<boolean> {
    const hidden = await this.#use(async () => await this.#query.updateTable('responses').set({ expires_at_ms: 0 })
      .where('id', '=', id).where('key_id', '=', keyId).where('expires_at_ms', '>', this.now()).returning('id').executeTakeFirst())
    if (hidden === undefined) return false
    let next: string | null | undefined = id
    while (next != null) next = await this.#dropUnused(next)
    return true
  }

  /** Deletes conversations of which every response has expired. @throws GatewayError `overloaded` */
  async expire (nowMs: number): Promise<void> {
    await this.#use(async () => await this.#query.deleteFrom('responses').where('expires_at_ms', '<=', nowMs)
      .where(build => build.not(build.exists(build.selectFrom('responses as other').select('other.id')
        .whereRef('other.root_id', '=', 'responses.root_id').where('other.expires_at_ms', '>', nowMs)))).execute())
  }

  /** Deletes a hidden response that nothing continues. @returns the one that it continued, if it was deleted */
  async #dropUnused (id: string): Promise<string | null | undefined> {
    const row = await this.#use(async () => await this.#query.deleteFrom('responses').where('id', '=', id).where('expires_at_ms', '=', 0)
      .where(build => build.not(build.exists(build.selectFrom('responses as next').select('next.id').where('next.previous_id', '=', id))))
      .returning('previous_id').executeTakeFirst())
    return row?.previous_id
  }

  async #noteItems (keyId: string, responseId: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    for (const part of parts(ids)) {
      const rows = part.map(id => ({ key_id: keyId, item_id: id, response_id: responseId }))
      await this.#use(async () => await this.#query.insertInto('response_items').values(rows)
        .onConflict(conflict => conflict.columns(['key_id', 'item_id']).doNothing()).execute())
    }
  }

  /** Returns the responses that hold these items, without their texts. */
  async #holders (keyId: string, itemIds: readonly string[]) {
    const holders = new Map<string, Pick<ResponseRow, 'id' | 'size_bytes'>>()
    for (const part of parts(itemIds)) {
      const rows = await this.#use(async () => await this.#query.selectFrom('responses').select(['id', 'size_bytes'])
        .where('id', 'in', query => query.selectFrom('response_items').select('response_id')
          .where('key_id', '=', keyId).where('item_id', 'in', part)).execute())
      for (const row of rows) holders.set(row.id, row)
    }
    return holders.values()
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
          .orderBy('created_at_ms').limit(evictedAtOnce)).execute())
      await this.expire(this.now())
    }
  }

  async #keptBytes (keyId: string): Promise<number> {
    const { bytes } = await this.#use(async () => await this.#query.selectFrom('responses')
      .select(({ fn }) => fn.sum<number | null>('size_bytes').as('bytes')).where('key_id', '=', keyId).executeTakeFirstOrThrow())
    return bytes ?? 0
  }

  /**
   * Returns the rows of a conversation up to a response, the first one first; `undefined` for a response that is unknown, and
   * for a conversation of which a part is lost.
   */
  async #conversation (keyId: string, id: string) {
    const { maxItems, maxBytes } = this.#options()
    const links = await this.#use(async () => await this.#chain(keyId, id, maxItems)
      .selectFrom('chain').select(['previous_id', 'size_bytes']).orderBy('depth').execute())
    if (links.length > maxItems || links.reduce((sum, { size_bytes: bytes }) => sum + bytes, 0) > maxBytes) throw tooLong()
    if (links.at(-1)?.previous_id !== null) return undefined
    return await this.#use(async () => await this.#chain(keyId, id, maxItems)
      .selectFrom('chain').innerJoin('responses', 'responses.id', 'chain.id')
      .select(['responses.root_id', 'responses.status', 'responses.response', 'responses.input', 'responses.origin']).orderBy('chain.depth', 'desc').execute())
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

function responseOf ({ response }: Pick<ResponseRow, 'response'>): ResponseObject {
  return JSON.parse(response) as ResponseObject // stored by `keep`
}

function inputOf ({ input }: Pick<ResponseRow, 'input'>): StoredItem[] {
  return JSON.parse(input) as StoredItem[] // as above
}

function originOf ({ origin }: Pick<ResponseRow, 'origin'>): ResponseOrigin | undefined {
  return origin === null ? undefined : JSON.parse(origin) as ResponseOrigin // as above
}

/** Other providers of this dialect may leave the id of an item out; it cannot be referred to. */
function outputOf (row: Pick<ResponseRow, 'response'>): StoredItem[] {
  return responseOf(row).output.filter(({ id }) => typeof id === 'string')
}

/** Values of one statement: databases bound their number. */
const maxValues = 1000

function * parts (ids: readonly string[]): Generator<string[]> {
  for (let start = 0; start < ids.length; start += maxValues) yield ids.slice(start, start + maxValues)
}

function tooLong (
  param = 'previous_response_id', message = 'The conversation that `previous_response_id` continues is too long.'
): GatewayError {
  return new GatewayError('context_length_exceeded', { param, message })
}
