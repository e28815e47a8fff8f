/**
 * Decides which tool servers a key may use.
 *
 * A server is named by its slug or by a URL of the caller. A URL is never covered by the slug of the server
 * behind it, because it receives none of the operator's headers.
 */

import { GatewayError } from '../core/errors.ts'
import { requestedServers, type RequestedServer } from '../chat/requested-servers.ts'
import { shorten } from '../text/shorten.ts'
import type { ApiKey } from '../core/key.ts'
import type { ChatInput } from '../chat/input.ts'

/** A key's rights to tool servers, and the owner of sessions. */
export type ToolScope = Pick<ApiKey, 'id' | 'mcpServers' | 'mcpUrls'>

interface ScopedCall {
  readonly key: ToolScope
  readonly request: Pick<ChatInput, 'mcp_servers' | 'credentials'>
}

/**
 * Returns the call if its key may use every server that it names.
 *
 * @throws GatewayError `insufficient_permissions` with the first entry that it may not use
 */
export function checkToolScope<C extends ScopedCall> (call: C): C {
  if (call.request.mcp_servers !== undefined) checkServers(requestedServers(call.request), call.key)
  return call
}

/** @throws GatewayError `insufficient_permissions` with the first entry that the key may not use */
export function checkServers (requested: readonly RequestedServer[], key: ToolScope): void {
  for (const { slug, url, name } of requested) {
    if (url !== undefined && !mayNameUrls(key)) {
      throw refused(`This API key may not use tool servers by URL (\`${shorten(name)}\`).`)
    }
    if (url === undefined && !mayUseServer(key, slug ?? name)) {
      throw refused(`This API key may not use the tool server \`${shorten(slug ?? name)}\`.`)
    }
  }
}

function mayUseServer ({ mcpServers }: ToolScope, slug: string): boolean {
  return mcpServers === undefined || mcpServers.includes('*') || mcpServers.includes(slug)
}

/** Returns false for keys limited to some servers, unless they explicitly allow URLs. */
export function mayNameUrls ({ mcpServers, mcpUrls }: Pick<ApiKey, 'mcpServers' | 'mcpUrls'>): boolean {
  return mcpUrls ?? (mcpServers === undefined || mcpServers.includes('*'))
}

/** Returns true for a valid scope entry: `org/name` or `*`. */
export function isServerPattern (text: string): boolean {
  return text === '*' || /^[A-Za-z0-9_.-]+\/[A-Za-z0-9_.-]+$/.test(text)
}

function refused (message: string): GatewayError {
  return new GatewayError('insufficient_permissions', { message, param: 'mcp_servers' })
}
