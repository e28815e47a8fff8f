/**
 * Converts the `config.json` of Bifrost into a configuration and an organisation. Names that callers use are
 * kept. Every entry gets a row in the plan, even without a counterpart.
 */

import { readBifrostAccess } from './bifrost-access.ts'
import { bifrostNotes, otherPlugin, pluginNotes } from './bifrost-notes.ts'
import { BifrostProviders, bifrostReferences, type BifrostDeps } from './bifrost-providers.ts'
import { readBifrostNames } from './bifrost-routes.ts'
import { ImportPlan } from './plan.ts'
import { ImportedSecrets } from './secrets.ts'
import { freeSlug, plainArguments, toolServerSlug } from './imported-tool-servers.ts'
import { isEmpty, isPlainAddress, milliseconds, objectOrEmpty } from './values.ts'
import { isContainer, isObject, listOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'
import type { ImportedOrganisation } from '../accounts/imported-organisation.ts'
import type { ImportedConfig } from './imported-config.ts'

export interface ImportedBifrost extends ImportedConfig {
  /** Absent for a file without virtual keys, teams and customers. */
  readonly organisation?: ImportedOrganisation
  /** Variables of virtual keys that this process lacks. */
  readonly missing: readonly string[]
}

/**
 * Imports a configuration.
 *
 * @param given the parsed `config.json`
 * @param env variables for addresses and virtual keys
 */
export function importBifrostConfig (
  given: JsonObject,
  env: Readonly<Record<string, string | undefined>>,
  nowMs: number
): ImportedBifrost {
  const file = objectOrEmpty(withPlainReferences(given))
  const plan = new ImportPlan(file)
  const secrets = new ImportedSecrets(file, plan, bifrostReferences)
  const deps = { plan, secrets, env }
  const providers = new BifrostProviders(file, deps)
  const names = readBifrostNames(file, providers, plan)
  const tools = new ToolServers(file, deps)
  const governance = objectOrEmpty(file['governance'])
  const { organisation, missing } = readBifrostAccess(governance, {
    ...deps, providers, servers: tools.slugs, openServers: tools.open, nowMs
  })
  const plugins = readPlugins(file, deps)
  noteSettings(file, plan)
  plan.noteOthers()
  const hasAccess = ['virtual_keys', 'teams', 'customers'].some(field => listOf(governance[field]).length > 0)
  return {
    config: {
      providers: Object.fromEntries(providers.providers),
      ...names,
      ...!isEmpty(tools.servers) && { mcp_servers: tools.servers },
      ...plugins
    },
    secrets: secrets.values,
    rows: plan.rows,
    ...hasAccess && { organisation },
    missing
  }
}

const referenceMembers: ReadonlySet<string> = new Set(['value', 'env_var', 'ref', 'from_env', 'type'])

/** Writes references that are objects, such as `{"env_var": "NAME", "from_env": true}`, as texts. */
function withPlainReferences (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPlainReferences)
  if (!isObject(value)) return value
  const { value: own, env_var: variable, ref, from_env: isVariable, type } = value
  const isReference = Object.keys(value).every(name => referenceMembers.has(name)) &&
    [own, variable, ref].some(text => typeof text === 'string')
  if (!isReference) {
    const entries = Object.entries(value).map(([name, entry]) => [name, withPlainReferences(entry)] as const)
    return Object.fromEntries(entries)
  }
  const text = nonEmptyText(variable) ?? nonEmptyText(ref) ?? nonEmptyText(own) ?? ''
  const isEnv = isVariable === true || type === 'env' || nonEmptyText(variable) !== undefined
  return isEnv && !text.startsWith('env.') ? `env.${text}` : text
}

function noteSettings (file: JsonObject, plan: ImportPlan): void {
  const enforces = objectOrEmpty(file['client'])['enforce_auth_on_inference'] === true
  for (const field of ['enforce_auth_on_inference', 'enforce_governance_header']) {
    if (enforces) plan.note(`client.${field}`, 'exact', 'every call needs a key')
    else plan.note(`client.${field}`, 'manual', 'every call needs a key here: give one to each program')
  }
  for (const [path, verdict, note] of bifrostNotes) {
    const value = path.split('.').reduce<unknown>((at, name) => objectOrEmpty(at)[name], file)
    const isOff = value === false || objectOrEmpty(value)['enabled'] === false ||
      (isContainer(value) && isEmpty(value))
    if (isOff) plan.note(path, 'exact', 'off')
    else plan.note(path, verdict, note)
  }
}

/** The tool servers of `mcp.client_configs`. */
class ToolServers {
  readonly servers: Record<string, JsonObject> = {}
  /** By name and id. */
  readonly slugs = new Map<string, string>()
  readonly open: string[] = []

  constructor (file: JsonObject, deps: BifrostDeps) {
    const clients = listOf(objectOrEmpty(file['mcp'])['client_configs']).map(objectOrEmpty)
    for (const [index, entry] of clients.entries()) {
      this.#read(entry, `mcp.client_configs[${index}]`, deps)
    }
  }

  #read (entry: JsonObject, path: string, { plan, secrets }: BifrostDeps): void {
    const name = nonEmptyText(entry['name']) ?? nonEmptyText(entry['client_id']) ?? 'server'
    const tools = listOf(entry['tools_to_execute']).map(String)
    const auth = nonEmptyText(entry['auth_type']) ?? 'none'
    const [url, stdio] = [nonEmptyText(entry['connection_string']), objectOrEmpty(entry['stdio_config'])]
    const left = leftOut(entry, { tools, auth, url })
    if (left !== undefined) {
      plan.note(path, left === 'off' || left.startsWith('no tool') ? 'exact' : 'manual', left)
      return
    }
    const slug = freeSlug(toolServerSlug('bifrost', name), this.servers)
    for (const key of [name, nonEmptyText(entry['client_id']) ?? name]) this.slugs.set(key, slug)
    const isOpen = entry['allow_by_default'] ?? entry['allow_on_all_virtual_keys']
    if (isOpen === true) this.open.push(slug)
    const headers = secrets.referAll(entry['headers'], `mcp_${name}`, `${path}.headers`)
    const args = plainArguments(stdio['args'], `${path}.stdio_config.args`, plan)
    const env = this.#environment(stdio, name, `${path}.stdio_config`, { plan, secrets })
    const timeoutMs = durationMs(entry['tool_execution_timeout'])
    noteServer(entry, path, plan, slug)
    this.servers[slug] = {
      ...url === undefined
        ? {
            command: nonEmptyText(stdio['command']) ?? '',
            ...args.length > 0 && { args },
            ...!isEmpty(env) && { env }
          }
        : { url, ...!isEmpty(headers) && { headers } },
      ...!tools.includes('*') && { allowed_tools: tools },
      ...timeoutMs !== undefined && { timeout_ms: timeoutMs }
    }
  }

  /** Reads `envs`: names of variables of the gateway, or variables with their values. */
  #environment (
    stdio: JsonObject,
    name: string,
    path: string,
    { plan, secrets }: Pick<BifrostDeps, 'plan' | 'secrets'>
  ): Record<string, string> {
    return Object.fromEntries(listOf(stdio['envs']).map(String).flatMap((text, index) => {
      const at = `${path}.envs[${index}]`
      const [variable = '', ...value] = text.split('=')
      if (!/^[A-Za-z_]\w*$/.test(variable)) {
        plan.note(at, 'unsupported', 'is not the name of a variable')
        return []
      }
      if (value.length === 0) {
        plan.note(at, 'exact', `env:${variable}`)
        return [[variable, `env:${variable}`]]
      }
      const secret = secrets.refer(value.join('='), `mcp_${name}_${variable}`, at)
      return secret === undefined ? [] : [[variable, secret]]
    }))
  }
}

/** Returns why a tool server is not carried over. */
function leftOut (
  { disabled, connection_type: connection }: JsonObject,
  { tools, auth, url }: {
    readonly tools: readonly string[]
    readonly auth: string
    readonly url: string | undefined
  }
): string | undefined {
  if (disabled === true) return 'off'
  if (tools.length === 0) return 'no tool of it may be used: left out'
  if (auth !== 'none' && auth !== 'headers') {
    return `left out: its sign-in is ${auth}; set \`headers\` to a variable with a token`
  }
  if (connection !== 'stdio' && (url === undefined || !isPlainAddress(url))) {
    return 'add it by hand: its address is not in the file, or may hold a secret'
  }
  return undefined
}

function noteServer (entry: JsonObject, path: string, plan: ImportPlan, slug: string): void {
  const names = ['name', 'client_id', 'connection_type', 'connection_string', 'auth_type', 'disabled']
  plan.noteFields(path, [...names, 'stdio_config.command'], 'exact', `tool server ${slug}`)
  plan.note(`${path}.tools_to_execute`, 'exact', '`allowed_tools`, where they are not all')
  plan.note(`${path}.tools_to_auto_execute`, 'approximate', 'every tool that a call may use runs by itself')
  plan.note(`${path}.tool_execution_timeout`, 'exact', '`timeout_ms`')
  plan.note(`${path}.tool_sync_interval`, 'manual', 'set `tools.list_ttl_ms`')
  const sharing = ['allow_by_default', 'allow_on_all_virtual_keys']
  plan.noteFields(path, sharing, 'exact', 'the keys that may use it')
  const connection = ['is_ping_available', 'needs_session_stickiness']
  plan.noteFields(path, connection, 'exact', 'the health of servers is known from calls')
  const tls = objectOrEmpty(entry['tls_config'])
  if (isEmpty(tls)) plan.note(`${path}.tls_config`, 'exact', 'certificates are checked')
  if (entry['is_code_mode_client'] === false) plan.note(`${path}.is_code_mode_client`, 'exact', 'off')
  for (const field of ['allowed_extra_headers', 'tool_pricing']) {
    const value = entry[field]
    if (isContainer(value) && isEmpty(value)) plan.note(`${path}.${field}`, 'exact', 'off')
  }
}

/** The longest time that a tool server may take for a call. */
const maxToolTimeoutMs = 3_600_000

/** Reads seconds, or a text such as `30s` or `2m`, within the bounds of a timeout. */
function durationMs (value: unknown): number | undefined {
  const text = typeof value === 'number' ? `${value}s` : String(value)
  const [, count = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? []
  const seconds = { ms: 0.001, s: 1, m: 60, h: 3600 }[unit]
  if (seconds === undefined || Number(count) === 0) return undefined
  return Math.min(maxToolTimeoutMs, milliseconds(Number(count) * seconds))
}

/** Returns `metrics` and `telemetry`, if the plugins require them. */
function readPlugins (file: JsonObject, { plan, secrets }: BifrostDeps): JsonObject {
  const sections: Record<string, unknown> = {}
  for (const [index, plugin] of listOf(file['plugins']).map(objectOrEmpty).entries()) {
    const path = `plugins[${index}]`
    const name = nonEmptyText(plugin['name']) ?? ''
    const [verdict, note] = pluginNotes[name] ?? otherPlugin
    if (plugin['enabled'] === false) plan.note(path, 'exact', 'off')
    else if (name === 'otel') {
      const telemetry = readTelemetry(objectOrEmpty(plugin['config']), path, { plan, secrets })
      if (telemetry !== undefined) sections['telemetry'] = telemetry
    } else {
      if (name === 'telemetry' || name === 'prometheus') sections['metrics'] = {}
      plan.note(path, verdict, note)
    }
  }
  return sections
}

/** Returns `telemetry` of the first profile; `undefined` if it is not sent by HTTP to a known address. */
function readTelemetry (
  config: JsonObject,
  path: string,
  { plan, secrets }: Pick<BifrostDeps, 'plan' | 'secrets'>
): JsonObject | undefined {
  const profiles = listOf(config['profiles']).map(objectOrEmpty)
  const profile = profiles[0] ?? config
  const endpoint = nonEmptyText(profile['collector_url']) ?? ''
  if (profile['protocol'] !== 'http' || profiles.length > 1 || !isPlainAddress(endpoint)) {
    plan.note(path, 'manual', 'set `telemetry.otlp.endpoint` to a collector by HTTP: docs/telemetry.md')
    return undefined
  }
  const at = profiles.length === 0 ? `${path}.config` : `${path}.config.profiles[0]`
  const headers = secrets.referAll(profile['headers'], 'otlp', `${at}.headers`)
  plan.note(path, 'approximate', '`telemetry.otlp`: spans by the conventions of OpenTelemetry, all of them')
  return {
    otlp: {
      endpoint: endpoint.replace(/\/(?:v1\/traces)?\/?$/, ''),
      protocol: 'http/protobuf',
      ...!isEmpty(headers) && { headers },
      sample: 1
    }
  }
}
