/**
 * Calls of MCP tools that wait for the caller's consent. The id of a request holds a digest of server, tool
 * and arguments: consent to one call is none to another.
 */

import { createHash, randomBytes } from 'node:crypto'
import { isObject } from '../../json/guards.ts'
import type { McpTool } from '../../../schemas/responses.ts'

/** Half of an id, in hexadecimal digits. */
const halfLength = 16

export class Approvals {
  readonly #servers = new Map<string, McpTool>()
  readonly #trusted: readonly string[]

  /**
   * @param servers as the request declares them, each with a label of its own
   * @param trusted names of servers that need no consent
   */
  constructor (servers: readonly McpTool[], trusted: readonly string[] = []) {
    this.#trusted = trusted
    for (const server of servers) this.#servers.set(server.server_label, server)
  }

  /** Returns whether a call must wait, which one of a server that is not known does. */
  isNeeded (label: string, toolName: string): boolean {
    const server = this.#servers.get(label)
    if (server === undefined) return !this.#trusted.includes(label)
    const { require_approval: rule } = server
    if (rule === 'never') return false
    return !(isObject(rule) && lists(rule['never'], toolName) && !lists(rule['always'], toolName))
  }

  /** Returns the id of a request for consent. @param given arguments as JSON */
  idFor (label: string, toolName: string, given: string): string {
    const nonce = randomBytes(halfLength / 2).toString('hex')
    return `mcpr_${nonce}${this.#digest(nonce, label, toolName, given)}`
  }

  /** Returns whether an id is that of a request for this call, at the server as it is declared now. */
  isFor (id: string, label: string, toolName: string, given: string): boolean {
    const nonce = id.slice('mcpr_'.length, 'mcpr_'.length + halfLength)
    return this.#servers.has(label) && id === `mcpr_${nonce}${this.#digest(nonce, label, toolName, given)}`
  }

  #digest (nonce: string, label: string, toolName: string, given: string): string {
    const url = this.#servers.get(label)?.server_url ?? ''
    return createHash('sha256')
      .update(JSON.stringify([nonce, url, label, toolName, given]))
      .digest('hex')
      .slice(0, halfLength)
  }
}

function lists (filter: unknown, toolName: string): boolean {
  if (!isObject(filter)) return false
  const { tool_names: names, read_only: readOnly } = filter
  // Servers say themselves which of their tools only read: not a fact to rely on.
  return readOnly == null && Array.isArray(names) && names.includes(toolName)
}
