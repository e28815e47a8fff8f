/** Output items about tool servers, which are complete when they begin. */

import { itemId } from '../item-ids.ts'
import { OpenItem, type ItemListener } from './open-item.ts'
import type { ListedServerTool, ToolResult } from '../../../core/events.ts'
import type { OutputItem } from '../../../../schemas/response-items.ts'

export type ServerItem = Extract<OutputItem, { type: 'mcp_call' | 'mcp_list_tools' | 'mcp_approval_request' }>

/** Writes an item that is complete when it begins: a server's tool list or a finished call. */
export class OpenServerItem extends OpenItem {
  readonly id: string
  readonly #item: ServerItem

  constructor (listener: ItemListener, item: ServerItem) {
    super(listener)
    this.id = item.id
    this.#item = item
  }

  protected opening (): OutputItem {
    const item = this.#item
    if (item.type === 'mcp_approval_request') return item
    return item.type === 'mcp_call'
      ? { ...item, status: 'in_progress', arguments: '', output: null, error: null }
      : { id: item.id, type: item.type, server_label: item.server_label, tools: [] }
  }

  protected close (): void {
    const item = this.#item
    if (item.type === 'mcp_approval_request') return
    this.event(`response.${item.type}.in_progress`, {})
    if (item.type === 'mcp_call') {
      this.event('response.mcp_call_arguments.delta', { delta: item.arguments })
      this.event('response.mcp_call_arguments.done', { arguments: item.arguments })
    }
    this.event(
      `response.${item.type}.${item.error === null || item.error === undefined ? 'completed' : 'failed'}`,
      {}
    )
  }

  protected complete (): OutputItem {
    return this.#item
  }
}

/** Returns the item of a finished call. */
export function serverCall ({
  toolName,
  serverName,
  arguments: given,
  isError,
  result,
  approvalId
}: ToolResult): ServerItem {
  const text = typeof result === 'string' ? result : JSON.stringify(result ?? '')
  return {
    id: itemId('mcp'),
    type: 'mcp_call',
    status: isError ? 'failed' : 'completed',
    server_label: serverName,
    name: toolName,
    arguments: JSON.stringify(given),
    output: isError ? null : text,
    error: isError ? { type: 'mcp_tool_execution_error', content: [{ type: 'text', text }] } : null,
    ...approvalId !== undefined && { approval_request_id: approvalId }
  }
}

/** Returns the item that lists the tools of a server. */
export function listedTools (name: string, tools: readonly ListedServerTool[]): ServerItem {
  return {
    id: itemId('mcpl'),
    type: 'mcp_list_tools',
    server_label: name,
    tools: tools.map(({ name, description = null, inputSchema, annotations = null }) => ({
      name,
      description,
      input_schema: inputSchema,
      annotations
    }))
  }
}

/** Returns the item of a server whose tools could not be listed. */
export function failedServer (name: string, message: string): ServerItem {
  return { id: itemId('mcpl'), type: 'mcp_list_tools', server_label: name, tools: [], error: message }
}
