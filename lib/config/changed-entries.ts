/** Compares the settings of two configurations. */

import type { ProviderSettings, ServerSettings, Settings } from '../core/settings.ts'
import { printSettings } from './print-settings.ts'

/** Maps settings that a running process cannot change to their entries in the file. */
const restartOnly = {
  host: 'server.host',
  acceptedHosts: 'server.accepted_hosts',
  aliases: 'server.aliases',
  litellmHeaders: 'server.litellm_headers',
  port: 'server.port',
  tls: 'server.tls',
  corsOrigins: 'server.cors_origins',
  logFormat: 'server.log_format',
  workers: 'server.workers',
  dataDir: 'server.data_dir',
  shutdownDelayMs: 'server.shutdown_delay_ms',
  drainMs: 'server.drain_ms',
  workerTimeoutMs: 'server.worker_timeout_ms',
  keepAliveMs: 'server.keep_alive_ms',
  writeTimeoutMs: 'server.write_timeout_ms',
  maxClientConnections: 'server.max_client_connections'
} as const satisfies Record<
  Exclude<
    keyof ServerSettings,
    | 'compatibility'
    | 'exposeStages'
    | 'logClient'
    | 'logKeyName'
    | 'logLevel'
    | 'publicHealth'
    | 'publicUrl'
    | 'trustProxy'
  >,
  string
>

/** Sections that it cannot change either. */
const restartOnlySections = ['metrics', 'telemetry', 'store', 'coordination'] as const

/** Lists the entries of the configuration that differ: `providers.openai`, `routes`, `limits`. */
export function changedEntries (before: Settings, after: Settings): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .filter(name => differ(Reflect.get(before, name), Reflect.get(after, name)))
    .flatMap(name =>
      changedParts(fileEntries[name] ?? name, Reflect.get(before, name), Reflect.get(after, name))
    )
}

/** Maps settings to the entries of the file that are not named like them. */
const fileEntries: Readonly<Record<string, string>> = {
  toolServers: 'mcp_servers',
  adminKey: 'HEADGATE_ADMIN_KEY'
}

/** Names the providers that differ, since a file has many; any other entry is named alone. */
function changedParts (entry: string, before: unknown, after: unknown): string[] {
  if (entry !== 'providers' || !Array.isArray(before) || !Array.isArray(after)) return [entry]
  const byId = (list: ProviderSettings[]): Map<string, ProviderSettings> =>
    new Map(list.map(provider => [provider.id, provider]))
  const [old, next] = [byId(before), byId(after)]
  return [...new Set([...old.keys(), ...next.keys()])]
    .filter(id => differ(old.get(id), next.get(id))).map(id => `providers.${id}`)
}

/** Compares settings with their secrets, which `isDeepStrictEqual` cannot see. */
function differ (a: unknown, b: unknown): boolean {
  return printSettings(a) !== printSettings(b)
}

/** Lists the entries that differ and that a running process cannot change. */
export function restartOnlyChanges (running: Settings, wanted: Settings): string[] {
  const changed = Object.entries(restartOnly).filter(([name]) => (
    differ(Reflect.get(running.server, name), Reflect.get(wanted.server, name))
  )).map(([, entry]) => entry)
  const sections = restartOnlySections.filter(name => differ(running[name], wanted[name]))
  return [...changed, ...sections]
}

/** Returns what a running process makes of new settings: those that it cannot change stay. */
export function keepRestartOnly (running: Settings, wanted: Settings): Settings {
  const server = replaceEach(Object.keys(restartOnly), wanted.server, running.server)
  return { ...replaceEach(restartOnlySections, wanted, running), server }
}

/** Copies an object, with the values that some of its fields have in another one. */
function replaceEach<T extends object> (names: readonly string[], object: T, other: T): T {
  const copy = { ...object }
  for (const name of names) Reflect.set(copy, name, Reflect.get(other, name))
  return copy
}
