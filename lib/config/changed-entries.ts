/** Compares the settings of two configurations. */

import { Secret } from '../core/secret.ts'
import type { ProviderSettings, ServerSettings, Settings } from '../core/settings.ts'

/** Maps settings that a running process cannot change to their entries in the file. */
const restartOnly = {
  host: 'server.host',
  acceptedHosts: 'server.accepted_hosts',
  port: 'server.port',
  tls: 'server.tls',
  corsOrigins: 'server.cors_origins',
  workers: 'server.workers',
  dataDir: 'server.data_dir',
  shutdownDelayMs: 'server.shutdown_delay_ms',
  drainMs: 'server.drain_ms',
  workerTimeoutMs: 'server.worker_timeout_ms',
  keepAliveMs: 'server.keep_alive_ms',
  maxClientConnections: 'server.max_client_connections'
} as const satisfies Record<Exclude<keyof ServerSettings, 'publicHealth' | 'publicUrl' | 'trustProxy' | 'logLevel'>, string>

/** Lists the entries of the configuration that differ: `providers.openai`, `routes`, `limits`. */
export function changedEntries (before: Settings, after: Settings): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.filter(name => differ(Reflect.get(before, name), Reflect.get(after, name)))
    .flatMap(name => changedParts(fileEntries[name] ?? name, Reflect.get(before, name), Reflect.get(after, name)))
}

/** Maps settings to the entries of the file that are not named like them. */
const fileEntries: Readonly<Record<string, string>> = { toolServers: 'mcp_servers' }

/** Names the providers that differ, since a file has many; any other entry is named alone. */
function changedParts (entry: string, before: unknown, after: unknown): string[] {
  if (entry !== 'providers' || !Array.isArray(before) || !Array.isArray(after)) return [entry]
  const byId = (list: ProviderSettings[]): Map<string, ProviderSettings> => new Map(list.map(provider => [provider.id, provider]))
  const [old, next] = [byId(before), byId(after)]
  return [...new Set([...old.keys(), ...next.keys()])]
    .filter(id => differ(old.get(id), next.get(id))).map(id => `providers.${id}`)
}

/** Compares settings with their secrets, which `isDeepStrictEqual` cannot see. */
function differ (a: unknown, b: unknown): boolean {
  const print = (value: unknown): string | undefined => JSON.stringify(value, function (this: object, name, printed: unknown) {
    const original: unknown = Reflect.get(this, name)
    return original instanceof Secret ? original.reveal() : printed
  })
  return print(a) !== print(b)
}

/** Lists the entries that differ and that a running process cannot change. */
export function restartOnlyChanges (running: Settings, wanted: Settings): string[] {
  const changed = Object.entries(restartOnly).filter(([name]) => (
    differ(Reflect.get(running.server, name), Reflect.get(wanted.server, name))
  )).map(([, entry]) => entry)
  const sections = (['metrics', 'store', 'coordination'] as const).filter(name => differ(running[name], wanted[name]))
  return [...changed, ...sections]
}
