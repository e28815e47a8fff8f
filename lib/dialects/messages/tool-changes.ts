/**
 * Reads how messages change the tool list: client-side searches find deferred tools, and system messages add
 * and remove tools.
 */

import { GatewayError } from '../../core/errors.ts'
import { isObject, objectOf } from '../../json/type-guards.ts'
import { compileCheck } from '../../validation/compile-check.ts'
import {
  MessagesListedTool,
  type MessagesBlock,
  type MessagesMessage
} from '../../../schemas/messages-request.ts'
import type { Refuse } from './content.ts'

export interface ToolChanges {
  /** Names of visible tools, deferred or not. */
  readonly found: ReadonlySet<string>
  /** Names of removed tools. */
  readonly removed: ReadonlySet<string>
  /** Tools defined by messages, by name. */
  readonly added: ReadonlyMap<string, MessagesListedTool>
}

const isTool = compileCheck(MessagesListedTool)

/**
 * Returns the changes in effect at the end of a conversation.
 *
 * @param refuse called for invalid tool definitions
 */
export function toolChanges (messages: readonly MessagesMessage[], refuse: Refuse): ToolChanges {
  const found = new Set<string>()
  const removed = new Set<string>()
  const added = new Map<string, MessagesListedTool>()
  const show = (name: string): void => {
    found.add(name)
    removed.delete(name)
  }
  const read = (block: MessagesBlock): void => {
    if (block.type === 'tool_reference') show(block.tool_name)
    else if (block.type === 'tool_result' && Array.isArray(block.content)) {
      for (const part of block.content) if (part.type === 'tool_reference') show(part.tool_name)
    }
    const change = changeIn(block)
    if (change === undefined) return
    const { kind, name, definition } = change
    if (kind === 'tool_removal') {
      removed.add(name)
      return
    }
    show(name)
    if (definition === undefined) return
    if (isTool(definition)) added.set(name, definition as MessagesListedTool) // checked above
    else refuse(invalidDefinition())
  }
  for (const { content } of messages) {
    if (typeof content !== 'string') for (const block of content) read(block)
  }
  return { found, removed, added }
}

interface ToolChange {
  readonly kind: 'tool_addition' | 'tool_removal'
  readonly name: string
  /** Present if the block defines the tool. */
  readonly definition?: unknown
}

/** Returns what a block changes about a named tool; ignores those of Anthropic's MCP connector. */
export function changeIn (block: { readonly type: string }): ToolChange | undefined {
  const { type } = block
  if (type !== 'tool_addition' && type !== 'tool_removal') return undefined
  const { type: by, name, definition } = objectOf(Reflect.get(block, 'tool')) ?? {}
  if (by === 'tool_reference' && typeof name === 'string') return { kind: type, name }
  if (type === 'tool_removal' || by !== 'tool_definition') return undefined
  const own = isObject(definition) ? definition['name'] : undefined
  return { kind: type, name: typeof own === 'string' ? own : '', definition }
}

function invalidDefinition (): GatewayError {
  return new GatewayError('unsupported_parameter', {
    message: 'messages: a tool definition in a message is invalid.',
    param: 'messages'
  })
}
