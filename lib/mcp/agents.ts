import type { Agent } from 'undici'
import type { ToolSettings } from '../core/settings.ts'
import { createGuardedAgent } from './guarded-fetch.ts'
import { loadUndici } from '../net/load-undici.ts'

/** Connection pools for tool servers and registries, created on first use. */
export interface Agents {
  /** For servers of callers: public addresses only, through the tools' proxy if there is one. */
  readonly checked: () => Agent
  /** For servers of the operator, at any address. */
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
