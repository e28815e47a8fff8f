/**
 * Reads the providers of Bifrost. Its keys of one provider become one provider here if they use the same
 * address and serve the same models; otherwise one per such group.
 */

import { entriesOf, isEmpty, isPlainAddress, milliseconds, amountOf, objectOrEmpty } from './values.ts'
import { unknownAddress, type ImportedProvider } from './imported-config.ts'
import { litellmProviders, type ProviderRow } from '../models/litellm-providers.ts'
import { variableIn, type ImportedSecrets, type ReferenceStyle } from './secrets.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import type { ImportPlan, Verdict } from './plan.ts'
import { listOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'

export const bifrostReferences: ReferenceStyle = {
  pattern: /^env\.([A-Za-z_]\w*)$/,
  starts: ['env.', 'vault.'],
  variablePrefix: 'BIFROST',
  defaults: ['BIFROST_ENCRYPTION_KEY']
}

export interface BifrostDeps {
  readonly plan: ImportPlan
  readonly secrets: ImportedSecrets
  /** Variables of this process: addresses and virtual keys are read from them. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Keys of one provider that form one provider here. */
export interface Account {
  /** The name of the provider here. */
  readonly id: string
  /** The weights of its keys together. */
  readonly weight: number
  /** Absent: all. */
  readonly models?: readonly string[]
  /** Names of models at the provider, by the names that callers use. */
  readonly aliases: ReadonlyMap<string, string>
  readonly keys: readonly BifrostKey[]
}

export interface BifrostKey {
  readonly name: string
  readonly weight: number
  /** `env:NAME`; absent for a server that needs none. */
  readonly secret?: string
  readonly path: string
}

const compatible = 'openai-compatible'

/**
 * The provider here for each of Bifrost's: rows of LiteLLM's table by their names there, or separate ones.
 */
const providerRows: ReadonlyMap<string, string | ProviderRow> = new Map<string, string | ProviderRow>([
  ['openai', 'openai'],
  ['anthropic', 'anthropic'],
  ['azure', 'azure'],
  ['gemini', 'gemini'],
  ['mistral', 'mistral'],
  ['groq', 'groq'],
  ['xai', 'xai'],
  ['fireworks', 'fireworks_ai'],
  ['deepseek', 'deepseek'],
  ['openrouter', 'openrouter'],
  ['ollama', 'ollama'],
  ['vllm', 'vllm'],
  ['sgl', { kind: 'sglang' }],
  ['cohere', 'cohere'],
  ['perplexity', 'perplexity'],
  ['cerebras', 'cerebras'],
  ['nebius', 'nebius'],
  ['parasail', { kind: compatible, baseUrl: 'https://api.parasail.io/v1' }],
  ['huggingface', { kind: compatible, baseUrl: 'https://router.huggingface.co/v1' }]
])

/** Kinds whose `base_url` has no version at its end. */
const withoutVersion: ReadonlySet<string> = new Set(['anthropic', 'azure-openai', 'google'])

/** Where a key has the address of its own server. */
const addressFields: ReadonlyArray<readonly [section: string, field: string]> = [
  ['azure_key_config', 'endpoint'],
  ['ollama_key_config', 'url'],
  ['vllm_key_config', 'url'],
  ['sgl_key_config', 'url']
]

/** Providers whose keys need no value. */
const keyless: ReadonlySet<string> = new Set(['ollama', 'vllm', 'sglang', compatible])

/** Switches of a provider, with the plan's note for those that are on. */
const providerOptions: ReadonlyArray<readonly [field: string, verdict: Verdict, note: string]> = [
  ['send_back_raw_request', 'unsupported', 'answers are always in the format of the caller'],
  ['send_back_raw_response', 'unsupported', 'answers are always in the format of the caller'],
  ['store_raw_request_response', 'manual', 'set `calls.keep_bodies`'],
  ['openai_config.disable_store', 'manual', 'let callers send `store: false`']
]
const certificateInFile = 'write it to a file, and set `tls.ca` to `file:` and its path'

interface ProviderEntry {
  readonly name: string
  readonly path: string
  readonly entry: JsonObject
  readonly row: ProviderRow
}

/** Keys with the same address and models, before they have a name here. */
interface KeyGroup {
  readonly settings: ImportedProvider
  readonly models?: readonly string[]
  readonly aliases: ReadonlyMap<string, string>
  readonly keys: BifrostKey[]
}

export class BifrostProviders {
  readonly #deps: BifrostDeps
  /** True if an empty list allows everything. */
  readonly #emptyIsAll: boolean
  /** As they are in the configuration. */
  readonly providers = new Map<string, ImportedProvider>()
  /** By the prefix that callers put before a model. */
  readonly accounts = new Map<string, readonly Account[]>()

  constructor (file: JsonObject, deps: BifrostDeps) {
    this.#deps = deps
    this.#emptyIsAll = file['version'] === 1
    for (const [name, entry] of entriesOf(file['providers'])) {
      const path = `providers.${name}`
      const row = rowOf(name, objectOrEmpty(objectOrEmpty(entry)['custom_provider_config']))
      if (row === undefined) deps.plan.note(path, 'unsupported', `no provider here serves ${name}`)
      else this.#read({ name, path, entry: objectOrEmpty(entry), row })
    }
  }

  /** Returns the models of a list that a provider or a key may serve; `undefined` for all. */
  allowed (list: unknown): readonly string[] | undefined {
    const names = listOf(list).map(String)
    return names.includes('*') || (names.length === 0 && this.#emptyIsAll) ? undefined : names
  }

  #read (provider: ProviderEntry): void {
    const { name, path, entry } = provider
    const { plan } = this.#deps
    const groups = new Map<string, KeyGroup>()
    const common = this.#commonSettings(provider)
    for (const [index, key] of listOf(entry['keys']).map(objectOrEmpty).entries()) {
      this.#readKey(provider, key, `${path}.keys[${index}]`, groups)
    }
    const isKeyless = objectOrEmpty(entry['custom_provider_config'])['is_key_less'] === true
    if (groups.size === 0 && isKeyless) {
      groups.set('', { settings: this.#addressed(provider, {}, path), aliases: new Map(), keys: [] })
    }
    if (groups.size === 0) {
      plan.note(path, 'manual', 'none of its keys serves a model: it is left out')
      return
    }
    const isSplit = groups.size > 1
    this.accounts.set(name, [...groups.values()].map(({ settings, models, aliases, keys }) => {
      const id = this.#freeId(isSplit ? `${name}-${keys[0]?.name ?? ''}` : name)
      this.providers.set(id, { ...settings, ...credentials(keys), ...common })
      const weight = keys.reduce((sum, key) => sum + key.weight, 0)
      return { id, weight, ...models !== undefined && { models }, aliases, keys }
    }))
  }

  #readKey (provider: ProviderEntry, key: JsonObject, path: string, groups: Map<string, KeyGroup>): void {
    const { plan, secrets } = this.#deps
    const name = nonEmptyText(key['name']) ?? 'key'
    const models = key['models'] === undefined ? undefined : this.allowed(key['models'])
    if (key['enabled'] === false || models?.length === 0) {
      plan.note(path, 'exact', key['enabled'] === false ? 'off: left out' : 'serves no model: left out')
      return
    }
    const settings = this.#addressed(provider, key, path)
    const aliases = this.#aliases(key, path, models)
    const secret = secrets.refer(key['value'], `${provider.name}_${name}`, `${path}.value`)
    if (secret === undefined && !keyless.has(settings.kind)) {
      plan.note(path, 'manual', 'has no key: identities of a cloud are not supported, set `api_key`')
    }
    plan.note(`${path}.value`, 'exact', 'none is needed')
    plan.note(`${path}.models`, 'exact', models === undefined ? 'all models' : 'a provider with these models')
    plan.note(`${path}.weight`, 'exact', 'its share of the requests')
    plan.noteFields(path, ['id', 'name', 'description', 'enabled'], 'exact', 'names it')
    const isBatch = key['use_for_batch_api'] === true
    plan.note(`${path}.use_for_batch_api`, isBatch ? 'approximate' : 'exact', 'there is no API for batches')
    const identity = JSON.stringify([settings, models?.toSorted(), [...aliases]])
    const group = groups.get(identity) ??
      { settings, ...models !== undefined && { models }, aliases, keys: [] }
    group.keys.push({
      name,
      weight: amountOf(key['weight']) ?? 1,
      ...secret !== undefined && { secret },
      path
    })
    groups.set(identity, group)
  }

  /** Reads what its model is called at the provider. */
  #aliases (key: JsonObject, path: string, models: readonly string[] | undefined): Map<string, string> {
    const { plan } = this.#deps
    const aliases = new Map<string, string>()
    const azure = objectOrEmpty(key['azure_key_config'])
    const maps = [
      ['aliases', key['aliases']], ['azure_key_config.deployments', azure['deployments']]
    ] as const
    for (const [field, map] of maps) {
      for (const [name, target] of entriesOf(map)) {
        const model = nonEmptyText(target) ?? nonEmptyText(objectOrEmpty(target)['model_id'])
        if (model === undefined) continue
        aliases.set(name, model)
        const at = `${path}.${field}.${name}`
        if (typeof target === 'string') plan.note(at, 'exact', `alias of ${model}`)
        plan.note(`${at}.model_id`, 'exact', `alias of ${model}`)
        const descriptions = ['model_name', 'model_family', 'description']
        plan.noteFields(at, descriptions, 'approximate', 'only a description')
      }
    }
    const served = nonEmptyText(objectOrEmpty(key['vllm_key_config'])['model_name'])
    if (served !== undefined) {
      for (const name of models ?? []) aliases.set(name, served)
      const at = `${path}.vllm_key_config.model_name`
      if (models === undefined) plan.note(at, 'approximate', 'callers name it: the key has no list of models')
      plan.note(at, 'exact', 'the names of its models there')
    }
    return aliases
  }

  /** Returns the kind, address and version of the server of a key. */
  #addressed ({ entry, row, path: at }: ProviderEntry, key: JsonObject, path: string): ImportedProvider {
    const { plan } = this.#deps
    const network = nonEmptyText(objectOrEmpty(entry['network_config'])['base_url'])
    let address = row.baseUrl
    if (network !== undefined) address = this.#address(network, row, `${at}.network_config.base_url`)
    for (const [section, field] of addressFields) {
      const own = nonEmptyText(objectOrEmpty(key[section])[field])
      if (own !== undefined) address = this.#address(own, row, `${path}.${section}.${field}`)
    }
    if (address === undefined && row.kind === 'azure-openai') {
      plan.note(path, 'manual', 'set `base_url` of the provider: the key has no `endpoint`')
      address = unknownAddress
    }
    const version = nonEmptyText(objectOrEmpty(key['azure_key_config'])['api_version'])
    plan.note(`${path}.azure_key_config.api_version`, 'exact', '`options.api_version` of the provider')
    const isOther = network !== undefined && row.kind === 'openai' &&
      !/^https:\/\/api\.openai\.com\b/.test(network)
    return {
      kind: isOther ? compatible : row.kind,
      ...address !== undefined && { base_url: address },
      ...version !== undefined && { options: { api_version: version } }
    }
  }

  #address (given: string, row: ProviderRow, path: string): string {
    const { plan, env } = this.#deps
    const variable = variableIn(given, bifrostReferences)
    const address = variable === undefined ? given : env[variable]
    if (address === undefined || !isPlainAddress(address)) {
      const source =
        variable === undefined ? 'it, without its user, query and fragment' : `the value of ${variable}`
      plan.note(path, 'manual', `set \`base_url\` of the provider to ${source}`)
      return unknownAddress
    }
    plan.note(path, 'exact', '`base_url` of the provider')
    const base = withoutTrailingSlashes(address)
    if (withoutVersion.has(row.kind)) return base.replace(/\/v1(?:beta)?$/, '')
    const isVersioned = /\/v\d+(?:beta)?$/.test(base) || row.baseUrl?.endsWith('/v1') === false
    return isVersioned ? base : `${base}/v1`
  }

  /** Reads settings that apply to all keys of a provider. */
  #commonSettings ({ name, path, entry, row }: ProviderEntry): Partial<ImportedProvider> {
    const { plan, secrets } = this.#deps
    const network = objectOrEmpty(entry['network_config'])
    const at = `${path}.network_config`
    const headers = secrets.referAll(network['extra_headers'], `${name}_header`, `${at}.extra_headers`)
    const [seconds, retries, idle] =
      ['default_request_timeout_in_seconds', 'max_retries', 'stream_idle_timeout_in_seconds']
        .map(field => amountOf(network[field]))
    plan.note(`${at}.default_request_timeout_in_seconds`, 'exact', '`timeouts.response_ms`')
    plan.note(`${at}.max_retries`, 'exact', '`retries`')
    plan.note(`${at}.stream_idle_timeout_in_seconds`, 'exact', '`timeouts.idle_bytes_ms`')
    const pauses = ['retry_backoff_initial', 'retry_backoff_max']
    plan.noteFields(at, pauses, 'approximate', 'what the provider says, else 250 ms and longer')
    plan.note(`${at}.keep_alive_timeout_in_seconds`, 'approximate', 'until the server closes a connection')
    plan.note(`${at}.allow_private_network`, 'exact', 'a provider may have any address')
    plan.note(`${at}.beta_header_overrides`, 'unsupported', 'set `headers` of the provider')
    const timeouts = {
      ...seconds !== undefined && { response_ms: milliseconds(seconds) },
      ...idle !== undefined && { idle_bytes_ms: milliseconds(idle) }
    }
    this.#noteOptions(entry, path)
    return {
      ...!isEmpty(headers) && { headers },
      ...!isEmpty(timeouts) && { timeouts },
      ...retries !== undefined && { retries: Math.min(10, Math.floor(retries)) },
      ...this.#connections(entry, path),
      ...this.#tls(network, at),
      ...this.#proxy(objectOrEmpty(entry['proxy_config']), name, `${path}.proxy_config`),
      ...this.#cacheMarks(objectOrEmpty(entry['prompt_cache']), row, `${path}.prompt_cache`)
    }
  }

  #connections (entry: JsonObject, path: string): Partial<ImportedProvider> {
    const { plan } = this.#deps
    const { concurrency, buffer_size: waiting } = objectOrEmpty(entry['concurrency_and_buffer_size'])
    const bounds = [concurrency, objectOrEmpty(entry['network_config'])['max_conns_per_host']]
      .flatMap(value => amountOf(value) ?? [])
    plan.note(`${path}.concurrency_and_buffer_size.concurrency`, 'exact', '`max_connections`, per process')
    plan.note(`${path}.network_config.max_conns_per_host`, 'exact', '`max_connections`, per process')
    plan.note(`${path}.concurrency_and_buffer_size.buffer_size`, 'exact', '`max_waiting_calls`')
    const most = amountOf(waiting)
    return {
      ...bounds.length > 0 && { max_connections: Math.max(1, Math.min(65_536, ...bounds.map(Math.floor))) },
      ...most !== undefined && { max_waiting_calls: Math.max(1, Math.min(1_000_000, Math.floor(most))) }
    }
  }

  #tls (network: JsonObject, path: string): Partial<ImportedProvider> {
    const { plan } = this.#deps
    if (network['insecure_skip_verify'] === true) {
      plan.note(`${path}.insecure_skip_verify`, 'manual', 'set `tls.ca`: certificates are always checked')
    }
    plan.note(`${path}.insecure_skip_verify`, 'exact', 'certificates are checked')
    plan.note(`${path}.enforce_http2`, 'exact', '`http2`')
    const variable = variableIn(network['ca_cert_pem'], bifrostReferences)
    if (variable === undefined) {
      plan.note(`${path}.ca_cert_pem`, 'manual', certificateInFile)
    }
    plan.note(`${path}.ca_cert_pem`, 'exact', `\`tls.ca\`: env:${variable ?? ''}`)
    return {
      ...variable !== undefined && { tls: { ca: `env:${variable}` } },
      ...network['enforce_http2'] === true && { http2: true }
    }
  }

  #proxy (proxy: JsonObject, name: string, path: string): Partial<ImportedProvider> {
    const { plan, secrets, env } = this.#deps
    const type = nonEmptyText(proxy['type'])
    if (type === undefined) return {}
    if (type === 'none' || type === 'environment') {
      plan.note(path, 'exact', type === 'none' ? '`proxy: none`' : 'that of HTTPS_PROXY or HTTP_PROXY')
      return type === 'none' ? { proxy: 'none' } : {}
    }
    const url = nonEmptyText(proxy['url']) ?? ''
    const address = env[variableIn(url, bifrostReferences) ?? ''] ?? url
    const origin = isPlainAddress(address) ? new URL(address).origin : undefined
    if (type !== 'http' || origin === undefined) {
      if (type === 'http') plan.note(path, 'manual', 'set `proxy`: its address may hold a secret')
      else plan.note(path, 'unsupported', `no proxies of kind ${type}`)
      return {}
    }
    plan.noteFields(path, ['type', 'url'], 'exact', '`proxy`')
    plan.note(`${path}.ca_cert_pem`, 'manual', certificateInFile)
    const [user, password] = [nonEmptyText(proxy['username']), nonEmptyText(proxy['password'])]
    const isPlain = [user, password].every(text => variableIn(text, bifrostReferences) === undefined)
    const credentials = isPlain && user !== undefined
      ? secrets.refer(`${user}:${password ?? ''}`, `${name}_proxy`, `${path}.username`)
      : undefined
    const parts = ['username', 'password']
    if (credentials === undefined) {
      plan.noteFields(path, parts, 'manual', 'set `proxy_credentials` to a variable with `user:password`')
    }
    plan.noteFields(path, parts, 'exact', '`proxy_credentials`, in the file of secrets')
    return { proxy: origin, ...credentials !== undefined && { proxy_credentials: credentials } }
  }

  #cacheMarks (cache: JsonObject, { kind }: ProviderRow, path: string): Partial<ImportedProvider> {
    const { plan } = this.#deps
    const isMarked = cache['auto_inject'] === true && kind === 'anthropic'
    if (isMarked) {
      const note = '`cache_marks: auto`, from the second call of a conversation on'
      plan.note(`${path}.auto_inject`, 'approximate', note)
    } else if (cache['auto_inject'] === true) {
      plan.note(`${path}.auto_inject`, 'exact', 'its models cache prompts without marks')
    } else plan.note(`${path}.auto_inject`, 'exact', 'off')
    plan.note(`${path}.ttl`, 'unsupported', 'marks have the usual lifetime')
    const marks = 'marks stand at the end of tools, system and conversation'
    plan.note(`${path}.cache_control_injection_points`, 'unsupported', marks)
    return isMarked ? { cache_marks: 'auto' } : {}
  }

  #noteOptions (entry: JsonObject, path: string): void {
    const { plan } = this.#deps
    for (const [field, verdict, note] of providerOptions) {
      const value = field.split('.').reduce<unknown>((at, name) => objectOrEmpty(at)[name], entry)
      plan.note(`${path}.${field}`, value === true ? verdict : 'exact', value === true ? note : 'off')
    }
    plan.note(`${path}.description`, 'approximate', 'only a description')
    const custom = `${path}.custom_provider_config`
    plan.noteFields(custom, ['base_provider_type', 'is_custom_provider'], 'exact', 'its kind')
    plan.note(`${custom}.is_key_less`, 'exact', 'it needs no key')
    plan.note(`${custom}.allowed_requests`, 'approximate', 'keys say which endpoints may be called')
  }

  /** Returns an unused name in the form of provider names. */
  #freeId (wanted: string): string {
    const base = wanted.toLowerCase().replaceAll(/[^a-z0-9._-]+/g, '-').replace(/^[._-]+/, '') || 'provider'
    let id = base
    for (let number = 2; this.providers.has(id); number++) id = `${base}-${number}`
    return id
  }
}

/** Returns the row of a provider by its name, or by the provider that a custom one resembles. */
function rowOf (name: string, custom: JsonObject): ProviderRow | undefined {
  const row = providerRows.get(nonEmptyText(custom['base_provider_type']) ?? name)
  return typeof row === 'string' ? litellmProviders.get(row) : row
}

function credentials (keys: readonly BifrostKey[]): Partial<ImportedProvider> {
  const known = keys.flatMap(({ secret, weight }) => secret === undefined ? [] : [{ key: secret, weight }])
  const [first, ...others] = known
  if (first === undefined) return {}
  if (others.length === 0) return { api_key: first.key }
  const isEven = others.every(({ weight }) => weight === first.weight)
  return { api_keys: isEven ? known.map(({ key }) => key) : known }
}
