/** Tool servers as opened by a gateway. */

import {
  createToolServers,
  type OpenOptions,
  type OpenTools,
  type ToolOutcome,
  type ToolServers
} from '../../lib/mcp/tool-servers.ts'
import { settings } from './settings.ts'
import type { ToolServerSettings, ToolSettings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const { signal } = new AbortController()

/** Returns the servers of these settings, closed when the test ends. */
export function toolServers (
  t: Test,
  tools: Partial<ToolSettings> = {},
  toolServers: ToolServerSettings[] = []
): ToolServers {
  const defaults = settings().tools
  const servers = createToolServers({
    toolServers,
    tools: {
      ...defaults,
      connectMs: 20_000,
      callMs: 20_000,
      listTtlMs: 60_000,
      sessionIdleMs: 60_000,
      allowedHosts: ['127.0.0.1'],
      ...tools
    }
  })
  t.teardown(async () => await servers.close())
  return servers
}

/** Returns the settings of a server at a URL. */
export function remoteServer (
  slug: string,
  url: string,
  parts: Partial<ToolServerSettings> = {}
): ToolServerSettings {
  return { slug, url, headers: {}, args: [], env: {}, shared: false, ...parts }
}

/** Opens the servers of a request. */
export async function open (
  servers: ToolServers, request: OpenOptions['request'], options: Partial<OpenOptions> = {}
): Promise<OpenTools> {
  return await servers.open({ request, key: { id: 'key' }, reservedNames: new Set(), signal, ...options })
}

/** Calls a tool. */
export async function call (
  tools: OpenTools,
  name: string,
  args: Record<string, unknown> = {}
): Promise<ToolOutcome> {
  return await tools.call(name, args, { signal })
}
