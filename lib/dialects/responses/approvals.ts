/**
 * Approvals of MCP tool calls. The id of an approval request contains a digest of server, tool and arguments,
 * so that an approval covers exactly one call. Where the stored arguments have placeholders, it contains two:
 * the caller may send the arguments with the values, or continue the stored response.
 */

import { createHash, randomBytes } from 'node:crypto'
import { isObject } from '../../json/type-guards.ts'
import type { McpTool } from '../../../schemas/responses.ts'

/** Hexadecimal digits of each part of an id. */
const partLength = 16
/** The parts of an id: its prefix, the nonce and the digests. */
const parts = /^mcpr_|[\da-f]{16}/g

export class Approvals {
  readonly #servers = new Map<string, McpTool>()
  readonly #trusted: readonly string[]

  /**
   * @param servers declared by the request, each with a unique label
   * @param trusted names of servers that need no approval
   */
  constructor (servers: readonly McpTool[], trusted: readonly string[] = []) {
    this.#trusted = trusted
    for (const server of servers) this.#servers.set(server.server_label, server)
  }

  /** Returns true if a call needs approval; calls to unknown servers do. */
  isNeeded (label: string, toolName: string): boolean {
    const server = this.#servers.get(label)
    if (server === undefined) return !this.#trusted.includes(label)
    const { require_approval: rule } = server
    if (rule === 'never') return false
    return !(isObject(rule) && lists(rule['never'], toolName) && !lists(rule['always'], toolName))
  }

  /**
   * Returns the id of an approval request.
   *
   * @param given arguments as JSON
   * @param shown the same as the caller will see them. Default: unchanged
   */
  idFor (label: string, toolName: string, given: string, shown = given): string {
    const nonce = randomBytes(partLength / 2).toString('hex')
    const digests = [...new Set([given, shown])].map(text => this.#digest(nonce, label, toolName, text))
    return `mcpr_${nonce}${digests.join('')}`
  }

  /** Returns true if the id belongs to a request for this call, to the server as it is declared now. */
  isFor (id: string, label: string, toolName: string, given: string): boolean {
    const [prefix, nonce = '', ...digests] = id.match(parts) ?? []
    return prefix === 'mcpr_' &&
      this.#servers.has(label) &&
      digests.includes(this.#digest(nonce, label, toolName, given))
  }

  #digest (nonce: string, label: string, toolName: string, given: string): string {
    const url = this.#servers.get(label)?.server_url ?? ''
    return createHash('sha256')
      .update(JSON.stringify([nonce, url, label, toolName, given]))
      .digest('hex')
      .slice(0, partLength)
  }
}

function lists (filter: unknown, toolName: string): boolean {
  if (!isObject(filter)) return false
  const { tool_names: names, read_only: readOnly } = filter
  // `read_only` is a claim of the server and cannot be trusted.
  return readOnly == null && Array.isArray(names) && names.includes(toolName)
}
