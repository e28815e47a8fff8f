/** Compares the settings of two configurations. */

import type { ProviderSettings, ServerSettings, Settings } from '../core/settings.ts'
import { printSettings } from './print-settings.ts'

/** Settings that a running process cannot change, with their entries in the file. */
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

/** Whole sections that it cannot change either. */
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

/** Settings whose entries in the file have other names. */
const fileEntries: Readonly<Record<string, string>> = {
  toolServers: 'mcp_servers',
  adminKey: 'HEADGATE_ADMIN_KEY'
}

/** Names each provider that differs, because a file has many; other entries are named as a whole. */
function changedParts (entry: string, before: unknown, after: unknown): string[] {
  if (entry !== 'providers' || !Array.isArray(before) || !Array.isArray(after)) return [entry]
  const byId = (list: ProviderSettings[]): Map<string, ProviderSettings> =>
    new Map(list.map(provider => [provider.id, provider]))
  const [old, next] = [byId(before), byId(after)]
  return [...new Set([...old.keys(), ...next.keys()])]
    .filter(id => differ(old.get(id), next.get(id))).map(id => `providers.${id}`)
}

/** Compares settings including secrets, which `isDeepStrictEqual` cannot see. */
function differ (a: unknown, b: unknown): boolean {
  return printSettings(a) !== printSettings(b)
}

/** Lists the changed entries that take effect only after a restart. */
export function restartOnlyChanges (running: Settings, wanted: Settings): string[] {
  const changed = Object.entries(restartOnly).filter(([name]) => (
    differ(Reflect.get(running.server, name), Reflect.get(wanted.server, name))
  )).map(([, entry]) => entry)
  const sections = restartOnlySections.filter(name => differ(running[name], wanted[name]))
  return [...changed, ...sections]
}

/** Returns new settings as a running process can apply them: those that need a restart are unchanged. */
export function keepRestartOnly (running: Settings, wanted: Settings): Settings {
  const server = replaceEach(Object.keys(restartOnly), wanted.server, running.server)
  return { ...replaceEach(restartOnlySections, wanted, running), server }
}

/** Copies an object, taking some of its fields from another one. */
function replaceEach<T extends object> (names: readonly string[], object: T, other: T): T {
  const copy = { ...object }
  for (const name of names) Reflect.set(copy, name, Reflect.get(other, name))
  return copy
}
