/**
 * The items for a provider of this dialect: those of the caller, and those of the continued conversation if
 * the provider does not store them.
 */

import { contentFor, splitContent, toReasoningItem } from '../../chat/reasoning-item.ts'
import { reasoningText, unpackReasoning } from './reasoning-state.ts'
import { toolsOfItem } from './tools.ts'
import type { ProviderAccount } from '../../core/call.ts'
import type { InputItem, ReasoningItem } from '../../../schemas/response-items.ts'
import type { ResponsesContext } from './input.ts'

/** The provider and account that receive the items. */
interface Receiver {
  /** Returns true for this account. */
  readonly isHere: (origin: ProviderAccount) => boolean
  /** Returns the digest of the account. */
  readonly account: () => string
  /** False if the provider reads reasoning as text, as servers of open models do. */
  readonly labelsReasoning: boolean
}

export interface SentItems {
  readonly items: readonly object[]
  /** Returns the caller's name of a place that the provider names: its `input[3]` is another item. */
  readonly callerParam: (param: string) => string
}

/** Returns the items to send; `undefined` if the request's items stay unchanged. */
export function sentItems (
  { request: { input }, items, stored }: Pick<ResponsesContext, 'request' | 'items' | 'stored'>,
  receiver: Receiver
): SentItems | undefined {
  const { isHere } = receiver
  const { continuation } = stored
  if (
    continuation === undefined &&
    (items === input || typeof input === 'string') &&
    !items.some(hasState)
  ) {
    return undefined
  }
  const keptHere = (id: unknown): boolean => {
    const origin = typeof id === 'string' ? stored.items.get(id)?.origin : undefined
    return origin !== undefined && isHere(origin)
  }
  /** The place of each own item in the request. */
  const places: string[] = []
  const own = items.flatMap((item, index) => {
    const sent = sentItem(item, keptHere, receiver)
    for (const _ of sent) places.push(typeof input === 'string' ? 'input' : `input[${index}]`)
    return sent
  })
  const isSame =
    typeof input === 'string' ||
    (own.length === (input ?? []).length && own.every((item, index) => item === input?.[index]))
  if (continuation === undefined || (continuation.origin !== undefined && isHere(continuation.origin))) {
    return isSame ? undefined : { items: own, callerParam: param => callerPlace(param, 0, places) }
  }
  const earlier = continuation.items
    .map(withoutServers)
    .flatMap(item => sentItem(item, () => false, receiver))
  return {
    items: [...earlier.map(withoutId), ...own],
    callerParam: param => callerPlace(param, earlier.length, places)
  }
}

/**
 * @param earlier number of items of the continued conversation
 * @param places of the items after them
 */
function callerPlace (param: string, earlier: number, places: readonly string[]): string {
  const [start, index] = /^input\[(\d+)\]/.exec(param) ?? []
  if (start === undefined) return param
  const place = Number(index) < earlier ? 'previous_response_id' : places[Number(index) - earlier] ?? 'input'
  return place.endsWith(']') ? place + param.slice(start.length) : place // a whole field has nothing to name
}

/** Removes tool servers that an earlier request added: the gateway calls those, and no provider. */
function withoutServers (item: InputItem): InputItem {
  const tools = toolsOfItem(item)
  const left = tools.filter(tool => Reflect.get(tool, 'type') !== 'mcp')
  return left.length === tools.length ? item : { ...item, tools: left } as InputItem // with fewer tools
}

function isReasoning (item: InputItem): item is ReasoningItem {
  return 'type' in item && item.type === 'reasoning'
}

function hasState (item: InputItem): boolean {
  return isReasoning(item) || 'encrypted_content' in item
}

/**
 * Returns an item as sent; reasoning needs its encrypted state, or text that the provider reads. The state is
 * unavailable if another provider produced the reasoning, or if only another account has it or can read it.
 */
function sentItem (
  item: InputItem,
  isKept: (id: unknown) => boolean,
  { account, labelsReasoning }: Receiver
): readonly object[] {
  const state = 'encrypted_content' in item ? item.encrypted_content : undefined
  if (!isReasoning(item)) {
    return [typeof state === 'string' ? withState(item, splitContent(state).content) : item]
  }
  if (typeof state !== 'string') {
    return isKept(item.id) || (!labelsReasoning && reasoningText(item) !== '') ? [item] : []
  }
  const packed = unpackReasoning(state)
  const reasoning = packed === undefined
    ? [{ ...item, encrypted_content: state }]
    : (packed.blocks ?? []).flatMap(block => toReasoningItem({ ...block }) ?? [])
  return reasoning.flatMap(each => {
    const content = contentFor(each.encrypted_content, account)
    if (content === undefined) return []
    return [content === state ? item : withState(each, content)]
  })
}

function withState (item: object, state: string): object {
  return Reflect.get(item, 'encrypted_content') === state ? item : { ...item, encrypted_content: state }
}

/** Items that need no id; the provider would look up an unknown one. */
const nameless: ReadonlySet<unknown> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output'
])

function withoutId (item: object): object {
  if (!('id' in item) || !('type' in item) || !nameless.has(item.type)) return item
  const { id: _, ...rest } = item
  return rest
}
