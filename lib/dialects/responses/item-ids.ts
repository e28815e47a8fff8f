/**
 * Ids of responses and their items: a prefix for the kind, and 128 random bits, so that ids cannot be
 * guessed.
 */

import { randomHex } from '../../text/ids.ts'
import { toolsOfItem, withoutCredentials } from './tools.ts'
import type { StoredItem } from './archive.ts'
import type { InputItem } from '../../../schemas/response-items.ts'

/** Returns an id such as `msg_…`. */
export function itemId (prefix: string): string {
  return `${prefix}_${randomHex()}`
}

const prefixes: ReadonlyMap<string, string> = new Map([
  ['message', 'msg'],
  ['reasoning', 'rs'],
  ['function_call', 'fc'],
  ['function_call_output', 'fco'],
  ['custom_tool_call', 'ctc'],
  ['custom_tool_call_output', 'ctco'],
  ['mcp_call', 'mcp'],
  ['mcp_list_tools', 'mcpl'],
  ['mcp_approval_request', 'mcpr'],
  ['mcp_approval_response', 'mcpa']
])

export interface IdentifiedItems {
  readonly items: readonly StoredItem[]
  /** Ids generated here. */
  readonly newIds: readonly string[]
}

/**
 * Normalises items to their listed form, in which each has a type and an id, and messages a list of parts.
 */
export function identified (items: readonly InputItem[]): IdentifiedItems {
  const seen = new Set<string>()
  const newIds: string[] = []
  const listed = items.map((item): StoredItem => {
    const type = 'type' in item && typeof item.type === 'string' ? item.type : 'message'
    let id = typeof item.id === 'string' ? item.id : ''
    if (id === '' || seen.has(id)) newIds.push(id = itemId(prefixes.get(type) ?? 'item'))
    seen.add(id)
    const tools = toolsOfItem(item).map(withoutCredentials)
    return {
      ...item,
      type,
      id,
      ...listedFields(item),
      ...tools.length > 0 && { tools }
    } as StoredItem // the type is that of the item
  })
  return { items: listed, newIds }
}

function listedFields (item: InputItem): object {
  if ('role' in item && 'content' in item) {
    const isAnswer = item.role === 'assistant'
    const parts =
      typeof item.content !== 'string'
        ? item.content
        : [{ type: isAnswer ? 'output_text' : 'input_text', text: item.content }]
    return {
      content: parts.map(part =>
        part.type === 'output_text' ? { annotations: [], logprobs: [], ...part } : part
      ),
      status: 'status' in item ? item.status : 'completed'
    }
  }
  return 'call_id' in item ? { status: 'status' in item ? item.status : 'completed' } : {}
}
