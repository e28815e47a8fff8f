/**
 * Items as a provider of this dialect gets them: those of the caller, and where it does not keep them, those
 * that the request continues.
 */

import { toReasoningItem } from '../../chat/reasoning-item.ts'
import { openReasoning } from './reasoning-state.ts'
import type { ProviderAccount } from '../../core/call.ts'
import type { InputItem, ReasoningItem } from '../../../schemas/response-items.ts'
import type { ResponsesContext } from './input.ts'

/**
 * Returns the items to send; `undefined` when they are those of the request as it came.
 *
 * @param isHere whether an account is the one that they are sent to
 */
export function sentItems (
  { request: { input }, items, stored }: Pick<ResponsesContext, 'request' | 'items' | 'stored'>,
  isHere: (origin: ProviderAccount) => boolean
): readonly object[] | undefined {
  const { continuation } = stored
  if (
    continuation === undefined &&
    (items === input || typeof input === 'string') &&
    !items.some(isReasoning)
  ) {
    return undefined
  }
  const keptHere = (id: unknown): boolean => {
    const origin = typeof id === 'string' ? stored.items.get(id)?.origin : undefined
    return origin !== undefined && isHere(origin)
  }
  const own = items.flatMap(item => sentItem(item, keptHere))
  const isSame =
    typeof input === 'string' ||
    (own.length === (input ?? []).length && own.every((item, index) => item === input?.[index]))
  if (continuation === undefined || (continuation.origin !== undefined && isHere(continuation.origin))) {
    return isSame ? undefined : own
  }
  return [...continuation.items.flatMap(item => sentItem(item, () => false)).map(withoutId), ...own]
}

function isReasoning (item: InputItem): item is ReasoningItem {
  return 'type' in item && item.type === 'reasoning'
}

/**
 * Returns an item as it is sent: reasoning with the state that it needs there. There is none where another
 * provider has reasoned, or where only another account has the state.
 */
function sentItem (item: InputItem, isKept: (id: unknown) => boolean): readonly object[] {
  if (!isReasoning(item)) return [item]
  const { encrypted_content: state } = item
  if (typeof state !== 'string') return isKept(item.id) ? [item] : []
  const sealed = openReasoning(state)
  if (sealed === undefined) return [item]
  return (sealed.blocks ?? []).flatMap(block => {
    const reasoning = toReasoningItem({ ...block })
    return reasoning === undefined ? [] : [reasoning]
  })
}

/** Types of items that need no id; one that was made elsewhere would be looked for. */
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
