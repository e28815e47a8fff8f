/** Loads what a request needs from stored responses: the continued conversation and referenced items. */

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

export const noStoredInput: StoredInput = { items: new Map() }

/**
 * Loads what the request uses from stored responses; `undefined` if it uses nothing.
 *
 * @throws GatewayError `invalid_value` for a response that cannot be continued, `context_length_exceeded` if
 *   it is too long, `overloaded` without memory or store
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
    record.request.storedInputBytes += bytes
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

/** Returns the id of a stored item to look up: of a reference, or of reasoning without state. */
function referredId (item: InputItem): string[] {
  const { id } = item
  if (typeof id !== 'string') return []
  if (isReference(item) || isIdOnly(item)) return [id]
  return item.type === 'reasoning' &&
    !('encrypted_content' in item && typeof item.encrypted_content === 'string')
    ? [id]
    : []
}

/** Items that are identified by their content. Reasoning is sent with its state or not at all. */
const contentTypes: ReadonlySet<unknown> = new Set([
  undefined,
  null,
  ...contentItemTypes,
  'tool_search_output',
  'apply_patch_call_output'
])

/** Fields with the action or the result of a hosted tool. */
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
 * Detects a hosted tool's record with an id but no content, which only the provider's account could resolve.
 * Settings, such as the size of an image, are not content.
 */
export function isIdOnly (item: object): item is { readonly id: string } {
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

/** Detects a reference, whose type is optional. */
export function isReference (item: InputItem): boolean {
  return (
    ('type' in item && item.type === 'item_reference') || (!('role' in item) && (item.type ?? null) === null)
  )
}

/** Returns the error for a response that is to be continued and is not there. */
export function previousNotFound (id: string): GatewayError {
  return new GatewayError('invalid_value', {
    param: 'previous_response_id',
    shownCode: 'previous_response_not_found',
    message: `Previous response with id '${shorten(id)}' not found.`
  })
}
