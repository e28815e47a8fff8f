/**
 * Reads from stored responses what a request needs: the conversation that it continues, and the items that it
 * refers to.
 */

import { contentItemTypes } from '../../../schemas/response-items.ts'
import { GatewayError } from '../../core/errors.ts'
import { shorten } from '../../text/shorten.ts'
import type { Continuation, FoundItem, ResponseArchive } from './archive.ts'
import type { ValidCall } from '../../core/call.ts'
import type { InputItem } from '../../../schemas/response-items.ts'
import type { ResponsesRequest } from '../../../schemas/responses.ts'

export interface StoredInput {
  readonly continuation?: Continuation
  /** By id. */
  readonly items: ReadonlyMap<string, FoundItem>
}

type ReadingCall = Pick<ValidCall<ResponsesRequest>, 'request' | 'key' | 'record' | 'takeMemory'>

export const nothingStored: StoredInput = { items: new Map() }

/**
 * Reads what the request takes from stored responses; `undefined` for a request that takes nothing.
 *
 * @throws GatewayError `invalid_value` for a response that cannot be continued, `context_length_exceeded` for
 *   one that is too long, `overloaded` while the store cannot be used, or there is no memory for it
 */
export function readStored (
  call: ReadingCall,
  archive: ResponseArchive | undefined
): Promise<StoredInput> | undefined {
  const { previous_response_id: previous, input } = call.request
  const ids = Array.isArray(input) ? input.flatMap(referredId) : []
  if (previous === undefined && ids.length === 0) return undefined
  return read(previous, ids, call, archive)
}

async function read (
  previous: string | undefined,
  ids: readonly string[],
  { key, record, takeMemory }: ReadingCall,
  archive: ResponseArchive | undefined
): Promise<StoredInput> {
  const take = (bytes: number): void => {
    record.storedInputBytes += bytes
    takeMemory?.(bytes)
  }
  const continuation =
    previous === undefined ? undefined : await archive?.continuation(key.id, previous, take)
  if (previous !== undefined && continuation === undefined) throw previousNotFound(previous)
  return {
    items: (await archive?.items(key.id, ids, take)) ?? new Map(),
    ...continuation !== undefined && { continuation }
  }
}

/**
 * Returns the id of an item that stands for a stored one; reasoning without its state is looked up as well.
 */
function referredId (item: InputItem): string[] {
  const { id } = item
  if (typeof id !== 'string') return []
  if (isReference(item) || isIdAlone(item)) return [id]
  return item.type === 'reasoning' &&
    !('encrypted_content' in item && typeof item.encrypted_content === 'string')
    ? [id]
    : []
}

/**
 * Types of items that are judged by their fields: what they did, or what came of it. Reasoning is sent with
 * its state or not at all.
 */
const contentTypes: ReadonlySet<unknown> = new Set([
  undefined,
  null,
  ...contentItemTypes,
  'tool_search_output',
  'apply_patch_call_output'
])

/** Fields that hold what an item of a hosted tool did, or what came of it. */
const contentFields = [
  'action',
  'actions',
  'arguments',
  'code',
  'content',
  'encrypted_content',
  'input',
  'operation',
  'output',
  'queries',
  'tools'
] as const

/**
 * Recognises the record of a hosted tool that has an id and none of its content, so that only the provider's
 * account could know what it holds. Settings, such as the size of an image, are no content.
 */
export function isIdAlone (item: object): item is { readonly id: string } {
  const { id, type, ...fields } = item as {
    readonly id?: unknown
    readonly type?: unknown
    readonly [field: string]: unknown
  }
  if (typeof id !== 'string' || contentTypes.has(type)) return false
  return (type === 'image_generation_call' ? ['result'] : contentFields).every(name => isEmpty(fields[name]))
}

function isEmpty (value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

/** Recognises a reference, which may come without its type. */
export function isReference (item: InputItem): boolean {
  return (
    ('type' in item && item.type === 'item_reference') || (!('role' in item) && (item.type ?? null) === null)
  )
}

function previousNotFound (id: string): GatewayError {
  return new GatewayError('invalid_value', {
    param: 'previous_response_id',
    shownCode: 'previous_response_not_found',
    message: `Previous response with id '${shorten(id)}' not found.`
  })
}
