/**
 * Stores responses of the Responses API, each for the key that created it.
 *
 * A response contains its own input and output and refers to the one it continues, so a conversation takes
 * only as much space as its content. Deleted and expired responses are hidden immediately; their rows are
 * removed when no remaining response continues them.
 *
 * A response with long texts belongs to no key until all pieces are stored.
 */

import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import { GatewayError } from '../core/errors.ts'
import { parseText } from '../json/parse-text.ts'
import { printText } from '../json/print-in-slices.ts'
import { formatMegabytes } from '../text/format-megabytes.ts'
import { previousNotFound } from '../dialects/responses/stored-input.ts'
import { isLong, LongTexts, storingMs } from './long-texts.ts'
import { ResponseFrames } from './response-frames.ts'
import { ResponseRoom } from './response-room.ts'
import {
  hasId,
  maxIdLength,
  originOf,
  parts,
  StoredConversations,
  type ConversationBounds
} from './stored-conversations.ts'
import { statementRunner, type UseStore } from './use-store.ts'
import { jsonColumn } from './json-column.ts'
import type { Database } from './database.ts'
import type { Lease } from './lease.ts'
import type { ResponseRow, Tables } from './tables.ts'
import type {
  Continuation,
  FoundItem,
  ResponseArchive,
  ResponseOrigin,
  ResponseToKeep,
  TakeMemory
} from '../dialects/responses/archive.ts'
import type { ResponseObject } from '../../schemas/responses.ts'

export interface ResponseStoreOptions extends ConversationBounds {
  readonly keeps: boolean
  /** How long a response is kept, in milliseconds. */
  readonly keepMs: number
  /** Maximum bytes stored per key. */
  readonly maxBytesPerKey: number
  /** Maximum bytes of a stored call's body, and of its response. */
  readonly maxBodyBytes: number
}

const inProgress: readonly string[] = ['queued', 'in_progress']

/** Maximum bytes of a stream per byte of a response's maximum size. */
const maxStreamShare = 16

const placeholdersName = 'placeholders'

/** Responses of dead processes that are ended in one go. */
const orphansAtOnce = 20
/** How long a gateway has to end them, in milliseconds. */
const claimMs = 60_000

/** Bytes of an item row without its id. */
const rowBytes = 80

/** A response that was deleted here. */
export interface RemovedResponse {
  /** Absent if no provider keeps it. */
  readonly origin: ResponseOrigin | undefined
}

/** All stored responses, each visible to its key alone. */
export class ResponseStore implements ResponseArchive {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore
  readonly #texts: LongTexts
  readonly #room: ResponseRoom
  readonly #options: () => ResponseStoreOptions
  /** The conversations of which the responses are part. */
  readonly conversations: StoredConversations
  /** The streams of background responses. */
  readonly frames: ResponseFrames
  /** Returns the time of the clock that leases and expiries use. */
  readonly now: () => number

  /** @param options read on each use, because they may change */
  constructor (
    database: Pick<Database, 'query' | 'storeFileIntact' | 'lockRows' | 'now'>,
    options: () => ResponseStoreOptions
  ) {
    this.#query = database.query
    this.now = database.now
    this.#use = statementRunner(database, 'Stored responses')
    this.#texts = new LongTexts(database, this.#use, 'responses')
    this.conversations = new StoredConversations(this.#query, this.#use, this.#texts, this.now, options)
    this.#room = new ResponseRoom(this.#query, this.#use, this.#texts)
    this.frames = new ResponseFrames(
      this.#query,
      this.#use,
      this.#texts,
      async (keyId, id, bytes) => await this.#makeRoom(keyId, id, bytes)
    )
    this.#options = options
  }

  get keeps (): boolean {
    return this.#options().keeps
  }

  get maxBodyBytes (): number {
    return this.#options().maxBodyBytes
  }

  /** Maximum bytes of a stream: each token event takes a few hundred bytes. */
  get maxStreamBytes (): number {
    const { maxBodyBytes, maxBytesPerKey } = this.#options()
    return Math.min(maxStreamShare * maxBodyBytes, maxBytesPerKey)
  }

  /**
   * Stores a response.
   *
   * @param lease of the process that owns it, if it is in progress
   * @throws GatewayError `file_too_large`, `overloaded`; `invalid_value` if the response that it continues
   *   was deleted meanwhile: nothing could continue this one
   */
  async keep (
    { keyId, previous, response, input, itemIds, origin, endUser, placeholders }: ResponseToKeep,
    lease?: Lease
  ): Promise<void> {
    if (response.id.length > maxIdLength) {
      throw new GatewayError('upstream_invalid_response', { cause: 'the id of the response is too long' })
    }
    const [responseText, inputText] = [await this.#printed(response), await this.#printed(input)]
    const sizeBytes = Buffer.byteLength(responseText) + Buffer.byteLength(inputText)
    const originText = jsonColumn(origin)
    const besideBytes =
      idBytes(itemIds) + Buffer.byteLength(originText ?? '') + (placeholders?.length ?? 0)
    const nowMs = this.now()
    const complete = {
      key_id: keyId,
      response: responseText,
      input: inputText,
      expires_at_ms: nowMs + this.#options().keepMs
    }
    const inPieces = isLong(responseText) || isLong(inputText) || placeholders !== undefined
    const inserted = await this.#use(async () => await this.#query.insertInto('responses').values({
      id: response.id,
      previous_id: previous?.id ?? null,
      root_id: previous?.rootId ?? response.id,
      status: response.status,
      ...inPieces ? { key_id: '', response: '', input: '', expires_at_ms: nowMs + storingMs } : complete,
      origin: originText,
      end_user: endUser ?? null,
      size_bytes: sizeBytes,
      stream_bytes: besideBytes,
      created_at_ms: nowMs,
      owner: lease?.owner ?? null,
      lease_until_ms: lease?.untilMs ?? 0
    }).onConflict(conflict => conflict.column('id').doNothing()).returning('id').executeTakeFirst())
    if (inserted === undefined) return
    if (previous !== undefined && !await this.#isStored(previous.id)) {
      await this.#room.delete([response.id])
      throw previousNotFound(previous.id)
    }
    if (inPieces) {
      await this.#putPlaceholders(response.id, placeholders)
      const texts = {
        response: await this.#texts.put(response.id, response.status, responseText),
        input: await this.#texts.put(response.id, 'input', inputText)
      }
      const shown = await this.#use(
        async () =>
          await this.#query
            .updateTable('responses')
            .set({ ...complete, ...texts })
            .where('id', '=', response.id)
            .where('expires_at_ms', '>', 0)
            .returning('id')
            .executeTakeFirst()
      )
      if (shown === undefined) return // it took too long
    }
    await this.conversations.noteItems(keyId, response.id, itemIds)
    await this.#makeRoom(keyId, response.id, sizeBytes + besideBytes)
  }

  /** Returns true for a response that has a row, which stays while another one continues it. */
  async #isStored (id: string): Promise<boolean> {
    return await this.#use(async () => await this.#query.selectFrom('responses').select('id')
      .where('id', '=', id).executeTakeFirst()) !== undefined
  }

  async #putPlaceholders (id: string, placeholders: string | undefined): Promise<void> {
    if (placeholders !== undefined) await this.#texts.putInPieces(id, placeholdersName, placeholders)
  }

  /**
   * Returns the placeholders stored with a key's response; `undefined` if it has none or is hidden.
   *
   * @throws GatewayError `overloaded`
   */
  async placeholders (keyId: string, id: string): Promise<string | undefined> {
    if ((await this.status(keyId, id)) === undefined) return undefined
    return await this.#texts.find(id, placeholdersName)
  }

  async #makeRoom (keyId: string, id: string, addedBytes: number): Promise<void> {
    await this.#room.makeRoom(keyId, id, addedBytes, this.#options().maxBytesPerKey, this.now())
  }

  /**
   * Replaces a response in progress.
   *
   * @returns false if it was cancelled or deleted, or belongs to another process
   */
  async update (response: ResponseObject, owner: string): Promise<boolean> {
    return await this.#replace(response, await printText(response), owner)
  }

  /**
   * Replaces a response in progress with its final state.
   *
   * @param origin where the provider keeps it too
   * @param placeholders of its texts, sealed
   * @returns false as `update` does
   * @throws GatewayError `file_too_large` if it is too large to store; it then remains in progress
   */
  async finish (
    response: ResponseObject,
    owner: string,
    origin?: ResponseOrigin,
    placeholders?: string
  ): Promise<boolean> {
    await this.#putPlaceholders(response.id, placeholders)
    return await this.#replace(response, await this.#printed(response), owner, origin)
  }

  async #replace (
    response: ResponseObject,
    text: string,
    owner: string,
    origin?: ResponseOrigin
  ): Promise<boolean> {
    const { id, status } = response
    const isOpen = inProgress.includes(status)
    const ids = response.output.filter(hasId).map(({ id }) => id)
    const originText = jsonColumn(origin)
    const [textBytes, besideBytes] = [
      Buffer.byteLength(text),
      idBytes(ids) + Buffer.byteLength(originText ?? '')
    ]
    const inRow = await this.#texts.put(id, status, text)
    const replaced = await this.#use(
      async () =>
        await this.#query
          .updateTable('responses')
          .set(({ eb }) => ({
            status,
            response: inRow,
            origin: originText,
            ...!isOpen && {
              owner: null,
              size_bytes: eb('size_bytes', '+', textBytes),
              stream_bytes: eb('stream_bytes', '+', besideBytes)
            }
          }))
          .where('id', '=', id)
          .where('owner', '=', owner)
          .where('status', 'in', inProgress)
          .returning('key_id')
          .executeTakeFirst()
    )
    const row = replaced ?? await this.#alreadyIn(id, status, inRow)
    if (row === undefined) return false
    await this.#texts.remove([id], inProgress.filter(name => name !== status))
    if (!isOpen) {
      await this.conversations.noteItems(row.key_id, id, ids)
      await this.#makeRoom(row.key_id, id, textBytes + besideBytes)
    }
    return true
  }

  /**
   * Returns the key of a response that an attempt which failed afterwards has put into a state. If the state
   * was never applied, because the response was cancelled or deleted, its text is deleted.
   */
  async #alreadyIn (
    id: string,
    status: ResponseObject['status'],
    inRow: string
  ): Promise<Pick<ResponseRow, 'key_id'> | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .selectFrom('responses')
          .select(['key_id', 'status', 'response'])
          .where('id', '=', id)
          .executeTakeFirst()
    )
    if (row?.status !== status) await this.#texts.remove([id], [status])
    return row?.status === status && row.response === inRow ? row : undefined
  }

  /** @throws GatewayError `file_too_large` */
  async #printed (value: unknown): Promise<string> {
    const { maxBodyBytes } = this.#options()
    return await printText(value, bytes => {
      if (bytes > maxBodyBytes) {
        throw new GatewayError('file_too_large', {
          message: `The response is larger than ${formatMegabytes(maxBodyBytes)}, the most that is stored.`
        })
      }
    })
  }

  /**
   * Ends a response in progress of any process. @returns its state afterwards. @throws GatewayError
   * `overloaded`
   */
  async cancel (keyId: string, response: ResponseObject): Promise<ResponseObject | undefined> {
    const text = await printText({ ...response, status: 'cancelled' } satisfies ResponseObject)
    const inRow = await this.#texts.put(response.id, 'cancelled', text)
    const cancelled = await this.#use(
      async () =>
        await this.#query
          .updateTable('responses')
          .set({ status: 'cancelled', response: inRow, owner: null })
          .where('id', '=', response.id)
          .where('key_id', '=', keyId)
          .where('status', 'in', inProgress)
          .returning('id')
          .executeTakeFirst()
    )
    const row = cancelled ?? await this.#alreadyIn(response.id, 'cancelled', inRow)
    if (row !== undefined) await this.#texts.remove([response.id], inProgress)
    return await this.find(keyId, response.id)
  }

  /** Renews a process's leases on these responses. @returns the ids it still owns */
  async renew (ids: readonly string[], { owner, untilMs }: Lease): Promise<ReadonlySet<string>> {
    const renewed = new Set<string>()
    for (const part of parts(ids)) {
      const rows = await this.#use(
        async () =>
          await this.#query
            .updateTable('responses')
            .set({ lease_until_ms: untilMs })
            .where('id', 'in', part)
            .where('owner', '=', owner)
            .where('status', 'in', inProgress)
            .returning('id')
            .execute()
      )
      for (const { id } of rows) renewed.add(id)
    }
    return renewed
  }

  /**
   * Ends responses of dead processes as `failed`, a few of them: leases are renewed between two calls. They
   * are claimed first, so that each is read by one gateway.
   *
   * @param error the error to store in them
   */
  async failOrphans (nowMs: number, error: ResponseObject['error']): Promise<void> {
    const claim = randomUUID()
    const orphans = this.#query
      .selectFrom('responses')
      .select('id')
      .where('owner', 'is not', null)
      .where('lease_until_ms', '<=', nowMs)
      .where('status', 'in', inProgress)
      .where('key_id', '<>', '') // is not stored yet
      .where('expires_at_ms', '>', this.now())
      .limit(orphansAtOnce)
    const claimed = await this.#use(
      async () =>
        await this.#query
          .updateTable('responses')
          .set({ owner: claim, lease_until_ms: nowMs + claimMs })
          .where('id', 'in', orphans)
          .where('lease_until_ms', '<=', nowMs) // another gateway may have claimed it since
          .returning(['id', 'key_id'])
          .execute()
    )
    for (const { id, key_id: keyId } of claimed) {
      const response = await this.find(keyId, id)
      if (response !== undefined) await this.update({ ...response, status: 'failed', error }, claim)
    }
  }

  /** Returns the status of a key's response unless hidden. @throws GatewayError `overloaded` */
  async status (keyId: string, id: string): Promise<string | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .selectFrom('responses')
          .select('status')
          .where('id', '=', id)
          .where('key_id', '=', keyId)
          .where('expires_at_ms', '>', this.now())
          .executeTakeFirst()
    )
    return row?.status
  }

  /** Returns the text of a key's response unless hidden. @throws GatewayError `overloaded` */
  async findText (keyId: string, id: string, takeMemory?: TakeMemory): Promise<string | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .selectFrom('responses')
          .select(['response', 'size_bytes'])
          .where('id', '=', id)
          .where('key_id', '=', keyId)
          .where('expires_at_ms', '>', this.now())
          .executeTakeFirst()
    )
    if (row === undefined) return undefined
    takeMemory?.(row.size_bytes)
    return await this.#texts.get(id, row.response)
  }

  /** Returns a key's response unless hidden. @throws GatewayError `overloaded` */
  async find (keyId: string, id: string, takeMemory?: TakeMemory): Promise<ResponseObject | undefined> {
    const text = await this.findText(keyId, id, takeMemory)
    // stored by `keep`
    return text === undefined ? undefined : await parseText(text, takeMemory) as ResponseObject
  }

  async continuation (keyId: string, id: string, takeMemory?: TakeMemory): Promise<Continuation | undefined> {
    return await this.conversations.continuation(keyId, id, takeMemory)
  }

  async items (
    keyId: string,
    ids: readonly string[],
    takeMemory?: TakeMemory
  ): Promise<ReadonlyMap<string, FoundItem>> {
    return await this.conversations.items(keyId, ids, takeMemory)
  }

  /**
   * Deletes a key's response. @returns where its provider keeps it too; `undefined` if there is no such
   * response. @throws GatewayError `overloaded`
   */
  async remove (keyId: string, id: string): Promise<RemovedResponse | undefined> {
    const hidden = await this.#use(
      async () =>
        await this.#query
          .updateTable('responses')
          .set({ expires_at_ms: 0 })
          .where('id', '=', id)
          .where('key_id', '=', keyId)
          .where('expires_at_ms', '>', this.now())
          .returning('origin')
          .executeTakeFirst()
    )
    if (hidden === undefined) return undefined
    await this.#room.deleteUnused(id)
    return { origin: originOf(hidden) }
  }

  /** Deletes conversations whose responses have all expired. @throws GatewayError `overloaded` */
  async expire (nowMs: number): Promise<void> {
    await this.#room.deleteExpired(nowMs)
  }
}

/** Returns the bytes of item rows: each also contains its response and key, and is in two indexes. */
function idBytes (ids: readonly string[]): number {
  return ids.reduce((bytes, id) => bytes + 2 * (Buffer.byteLength(id) + rowBytes), 0)
}
