import type { Agent } from 'undici'
import type { ToolSettings } from '../core/settings.ts'
import { createGuardedAgent } from './guarded-fetch.ts'
import { loadUndici } from '../net/load-undici.ts'

/** Holds the connections to tool servers and registries. Created when the first is needed. */
export interface Agents {
  /**
   * Connects to servers of callers: public addresses only, through the proxy of the tools if there is one.
   */
  readonly checked: () => Agent
  /** Connects to servers of the operator, wherever they are. */
  readonly open: () => Agent
  readonly destroy: () => Promise<void>
}

export function createAgents ({
  allowedHosts,
  connectMs,
  proxy: url,
  proxyCredentials: credentials
}: Pick<ToolSettings, 'allowedHosts' | 'connectMs' | 'proxy' | 'proxyCredentials'>): Agents {
  const proxy = url === undefined
    ? undefined
    : { url: new URL(url).origin, ...credentials !== undefined && { credentials } }
  const ending = new AbortController()
  let checked: Agent | undefined
  let open: Agent | undefined
  return {
    checked: () => checked ??= createGuardedAgent({
      allowed: allowedHosts,
      connectMs,
      proxy,
      signal: ending.signal
    }),
    open: () => open ??= new (loadUndici().Agent)({ bodyTimeout: 0, connect: { timeout: connectMs } }),
    destroy: async () => {
      ending.abort()
      await Promise.all([checked?.destroy(), open?.destroy()])
    }
  }
}
