/**
 * Reads `model_list` of LiteLLM: its deployments, their providers, and the facts about each.
 */

import { readModelBudget } from './litellm-named-budgets.ts'
import type { BudgetClock } from './litellm-budgets.ts'
import { ImportPlan, type Verdict } from './plan.ts'
import { litellmProviders, splitModel, type ProviderRow } from '../models/litellm-providers.ts'
import { variableIn, type ImportedSecrets } from './secrets.ts'
import { isEmpty, isPlainAddress, milliseconds, amountOf, objectOrEmpty } from './values.ts'
import { unknownAddress, type ImportedProvider } from './imported-config.ts'
import { kinds } from '../providers/kinds.ts'
import { explain } from '../validation/explain.ts'
import { ModelSettings } from '../../schemas/chat.ts'
import { priceOf } from '../models/price-map.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import { listOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'

/** A model at a provider, one of those behind a `model_name`. */
export interface Deployment {
  /** With the prefix of its provider. */
  readonly model: string
  readonly weight: number | undefined
  readonly order: number | undefined
  /** Defaults of requests. */
  readonly settings: JsonObject
  /** Its place in the file. */
  readonly path: string
}

/** Parameters that are fields of a request. */
const requestFields = [
  'temperature', 'top_p', 'top_k', 'n', 'max_tokens', 'max_completion_tokens', 'presence_penalty',
  'frequency_penalty', 'seed', 'stop', 'logit_bias', 'response_format', 'reasoning_effort', 'service_tier',
  'parallel_tool_calls'
] as const

/** Parameters that may name a variable, and that the configuration here contains as they are. */
const plainParams = [
  'model', 'custom_llm_provider', 'api_base', 'base_url', 'api_version', 'timeout', 'stream_timeout',
  'max_retries', 'num_retries', 'rpm', 'tpm', 'weight', 'order'
] as const

const capabilityNames = {
  max_input_tokens: 'input_token_limit',
  max_output_tokens: 'output_token_limit',
  supports_vision: 'vision',
  supports_function_calling: 'tools',
  supports_response_schema: 'structured_output'
} as const

/** Entries without a setting here, with the plan's note about each. */
const noted: ReadonlyArray<readonly [entry: string, verdict: Verdict, note: string]> = [
  [
    'litellm_params.rpm',
    'approximate',
    'its share of the calls, not a limit: limits are for keys and projects'
  ],
  [
    'litellm_params.tpm',
    'approximate',
    'its share of the calls, not a limit: limits are for keys and projects'
  ],
  ['litellm_params.weight', 'exact', 'its weight in the route'],
  ['litellm_params.order', 'exact', 'its place in the route'],
  ['litellm_params.custom_llm_provider', 'exact', 'the kind of its provider'],
  ['litellm_params.litellm_credential_name', 'exact', 'settings of its provider'],
  ['litellm_params.keep_alive', 'unsupported', 'the server decides how long a model stays loaded'],
  ['litellm_params.thinking', 'unsupported', 'request it with `reasoning_effort`'],
  ['litellm_params.additional_drop_params', 'unsupported', 'set `traits` of the model under `models`'],
  ['litellm_params.tags', 'unsupported', 'tags do not select models: use routes, and `models` of keys'],
  ['litellm_params.budget_duration', 'exact', 'there is no budget'],
  ['litellm_params.use_in_pass_through', 'exact', 'there is no pass-through'],
  ['litellm_params.max_parallel_requests', 'manual', 'set `max_connections` of the provider'],
  ['litellm_params.guardrails', 'manual', 'see `only.models` of guards in docs/guards.md'],
  ['litellm_params.ssl_verify', 'manual', 'set `tls.ca` of the provider: certificates are always checked'],
  ['litellm_params.mock_response', 'unsupported', 'use a model of the sandbox'],
  ['litellm_params.drop_params', 'exact', 'fields that a provider does not know are dropped'],
  ['model_info.id', 'exact', 'models go by their names'],
  ['model_info.db_model', 'exact', 'an entry of the database'],
  ['model_info.access_groups', 'exact', 'models of the keys that name the group'],
  ['model_info.mode', 'exact', 'the endpoint of a call decides'],
  ['model_info.max_tokens', 'exact', 'the limits next to it count'],
  ['model_info.description', 'exact', 'for people only'],
  ['model_info.base_model', 'approximate', 'a price comes from the catalogue or from `models`']
]

export interface LitellmModelsOptions {
  /** Variables whose values addresses and other entries that are no secrets refer to. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Names that no provider may get. */
  readonly reserved?: ReadonlySet<string>
}

/** The address of a provider; `source` distinguishes those that the file does not contain. */
interface Address {
  readonly url: string | undefined
  readonly source?: string
}

export class LitellmModels {
  readonly #plan: ImportPlan
  readonly #secrets: ImportedSecrets
  readonly #credentials: ReadonlyMap<string, JsonObject>
  readonly providers = new Map<string, ImportedProvider>()
  /** Their names, by their settings in JSON. */
  readonly #bySettings = new Map<string, string>()
  /** What `models` says of each, by id. */
  readonly known = new Map<string, JsonObject>()
  /** The deployments behind each `model_name`. */
  readonly deployments = new Map<string, Deployment[]>()

  /** Entries of `limits.models`, by id; of several deployments of one model, the first counts. */
  readonly budgets = new Map<string, JsonObject>()
  readonly #clock: BudgetClock
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #reserved: ReadonlySet<string>

  /** @param file the parsed `config.yaml` */
  constructor (
    file: JsonObject,
    plan: ImportPlan,
    secrets: ImportedSecrets,
    clock: BudgetClock,
    { env = {}, reserved = new Set() }: LitellmModelsOptions = {}
  ) {
    this.#env = env
    this.#reserved = reserved
    this.#clock = clock
    this.#plan = plan
    this.#secrets = secrets
    this.#credentials = new Map(listOf(file['credential_list']).map((entry, index) => {
      const { credential_name: name, credential_values: values } = objectOrEmpty(entry)
      plan.note(`credential_list[${index}]`, 'exact', 'settings of the providers of the models that name it')
      return [String(name), objectOrEmpty(values)]
    }))
    for (const [index, entry] of listOf(file['model_list']).entries()) {
      this.#readModel(objectOrEmpty(entry), `model_list[${index}]`)
    }
  }

  #readModel (entry: JsonObject, path: string): void {
    const given = objectOrEmpty(entry['litellm_params'])
    const credential = nonEmptyText(given['litellm_credential_name'])
    const known = credential === undefined ? {} : this.#credentials.get(credential)
    const params = this.#withVariables({ ...known, ...given }, `${path}.litellm_params`)
    if (known === undefined) {
      const note = 'credential_list has no such credential: set the key and the address of its provider'
      this.#plan.note(`${path}.litellm_params.litellm_credential_name`, 'manual', note)
    }
    const wanted = params['model']
    const name = nameIn(entry['model_name'])
    const missing = variableIn(wanted)
    if (name === undefined || typeof wanted !== 'string') {
      const field = name === undefined ? 'model_name' : 'litellm_params.model'
      this.#plan.note(path, 'unsupported', `has no \`${field}\``)
      return
    }
    if (missing !== undefined) {
      this.#plan.note(path, 'manual', `set ${missing}, which names its model, and import again`)
      return
    }
    const spaced = [name, wanted].find(text => /\s/.test(text))
    if (spaced !== undefined) {
      this.#plan.note(path, 'unsupported', `${spaced}: names have no spaces here, so give it another one`)
      return
    }
    const [prefix, model] = splitModel(wanted, nonEmptyText(params['custom_llm_provider']))
    const row = litellmProviders.get(prefix)
    if (row === undefined) {
      const why = prefix === '' ? 'write it as `provider/model`' : `no provider here serves \`${prefix}/…\``
      this.#plan.note(path, 'unsupported', `${wanted}: ${why}`)
      return
    }
    const id = `${this.#providerFor(prefix, row, params, `${path}.litellm_params`)}/${model}`
    this.#plan.note(`${path}.model_name`, 'exact', `served by ${id}`)
    this.#plan.note(
      `${path}.litellm_params.model`,
      row.baseUrl === undefined ? 'exact' : 'approximate',
      row.baseUrl === undefined ? id : `${id}, by the API of OpenAI that ${prefix} has as well`
    )
    const settings = this.#defaultsOf(params, `${path}.litellm_params`)
    this.#readFacts(params, objectOrEmpty(entry['model_info']), id, path)
    const budget = readModelBudget(id, params, `${path}.litellm_params`, this.#plan, this.#clock)
    if (budget !== undefined && !this.budgets.has(id)) this.budgets.set(id, budget)
    for (const [field, verdict, note] of noted) this.#plan.note(`${path}.${field}`, verdict, note)
    for (const field of Object.keys(objectOrEmpty(entry['model_info']))) {
      const at = `${path}.model_info.${field}`
      if (!this.#plan.has(at)) this.#plan.note(at, 'approximate', 'only a description')
    }
    const others = this.deployments.get(name) ?? []
    this.deployments.set(name, [...others, {
      model: id,
      weight: ['weight', 'rpm', 'tpm'].flatMap(field => amountOf(params[field]) ?? [])[0],
      order: amountOf(params['order']),
      settings,
      path
    }])
  }

  /** Replaces variables in parameters that are no secrets by their values. */
  #withVariables (params: JsonObject, path: string): JsonObject {
    const found = plainParams.flatMap((field): Array<[string, unknown]> => {
      const variable = variableIn(params[field])
      if (variable === undefined) return []
      const value = nonEmptyText(this.#env[variable])
      if (value !== undefined) return [[field, value]]
      if (/^(?:model|api_base|base_url)$/.test(field)) return []
      const note = `set ${variable} and import again, or write its value here`
      this.#plan.note(`${path}.${field}`, 'manual', note)
      return [[field, undefined]]
    })
    return { ...params, ...Object.fromEntries(found) }
  }

  /** Returns defaults of requests, without those that no request may have. */
  #defaultsOf (params: JsonObject, path: string): JsonObject {
    return Object.fromEntries(requestFields.flatMap((field): Array<[string, unknown]> => {
      const value = params[field]
      if (value === undefined || value === null) return []
      const [problem] = explain(ModelSettings, { [field]: value }, { loc: [] })
      const at = `${path}.${field}`
      if (problem === undefined) this.#plan.note(at, 'exact', 'a default of requests to the model')
      else this.#plan.note(at, 'unsupported', `is not valid in a request: ${problem.msg}`)
      return problem === undefined ? [[field, value]] : []
    }))
  }

  /** Returns the name of the provider with these settings: models with equal settings share one. */
  #providerFor (prefix: string, row: ProviderRow, params: JsonObject, path: string): string {
    const address = this.#address(row, params, path)
    const settings = this.#settingsOf(prefix, row, params, { path, url: address.url })
    const printed = JSON.stringify([settings, address.source])
    let id = this.#bySettings.get(printed)
    if (id === undefined) {
      const name = providerName(prefix, row, settings)
      id = name
      for (let number = 2; this.providers.has(id) || this.#reserved.has(id); number++) {
        id = `${name}-${number}`
      }
      this.#bySettings.set(printed, id)
      this.providers.set(id, settings)
    }
    return id
  }

  #settingsOf (
    prefix: string,
    row: ProviderRow,
    params: JsonObject,
    { path, url: own }: { readonly path: string, readonly url: string | undefined }
  ): ImportedProvider {
    const note = (field: string, what: string): void => this.#plan.note(`${path}.${field}`, 'exact', what)
    const address = own ?? row.baseUrl
    const isOther = own !== undefined && row.kind === 'openai' && !isOpenAi(own)
    const settings: ImportedProvider = { kind: isOther ? 'openai-compatible' : row.kind }
    const name = providerName(prefix, row, { ...settings, ...address !== undefined && { base_url: address } })
    const key = this.#secrets.refer(params['api_key'], `${name}_api_key`, `${path}.api_key`)
    const organization = this.#secrets.refer(
      params['organization'],
      `${name}_organization`,
      `${path}.organization`
    )
    const headers = {
      ...this.#secrets.referAll(params['extra_headers'] ?? params['headers'], name, `${path}.extra_headers`),
      ...organization !== undefined && { 'OpenAI-Organization': organization }
    }
    if (address !== undefined) settings.base_url = address
    if (key !== undefined || row.variable !== undefined) settings.api_key = key ?? `env:${row.variable}`
    if (!isEmpty(headers)) settings.headers = headers
    const retries = amountOf(params['max_retries'] ?? params['num_retries'])
    if (retries !== undefined) settings.retries = Math.min(10, Math.floor(retries))
    for (const field of ['max_retries', 'num_retries']) note(field, '`retries` of the provider')
    for (const [field, to] of [['timeout', 'response_ms'], ['stream_timeout', 'first_byte_ms']] as const) {
      const seconds = amountOf(params[field])
      if (seconds === undefined) continue
      // 0 is no timeout of its own there
      if (seconds > 0) settings.timeouts = { ...settings.timeouts, [to]: milliseconds(seconds) }
      note(field, `\`timeouts.${to}\` of the provider`)
    }
    const version = nonEmptyText(params['api_version'])
    if (version !== undefined && row.kind === 'azure-openai') settings.options = { api_version: version }
    note('api_version', row.kind === 'azure-openai' ? '`options.api_version` of the provider' : 'not needed')
    return settings
  }

  #address (row: ProviderRow, params: JsonObject, path: string): Address {
    const { kind, addressVariable: usual = '', baseUrl } = row
    const field = params['api_base'] === undefined ? 'base_url' : 'api_base'
    const given = nonEmptyText(params[field])
    const text = given ?? nonEmptyText(this.#env[usual])
    if (text !== undefined && isPlainAddress(text)) {
      this.#plan.note(`${path}.${field}`, 'exact', '`base_url` of the provider')
      return { url: withoutTrailingSlashes(text) }
    }
    if (text === undefined && (baseUrl ?? kinds[kind].baseUrl) !== undefined) return { url: undefined }
    const variable = text === undefined ? usual : variableIn(text)
    const source = variable === undefined
      ? 'it, without its user, query and fragment'
      : variable === '' ? 'the address of its service' : `the value of ${variable}`
    const at = given === undefined ? 'model' : field
    this.#plan.note(`${path}.${at}`, 'manual', `set \`base_url\` of the provider to ${source}`)
    return { url: unknownAddress, source: variable ?? text ?? '' }
  }

  /** Reads prices, limits and capabilities, which are in either of two places. */
  #readFacts (params: JsonObject, info: JsonObject, id: string, path: string): void {
    const can: Record<string, number | boolean> = {}
    const costs: Record<string, unknown> = { mode: info['mode'] }
    for (const values of [info, params]) {
      for (const [field, value] of Object.entries(values)) {
        if (/_cost|cost_per|tiered_pricing/.test(field)) costs[field] = amountOf(value) ?? value
      }
    }
    const price = priceOf(costs)
    const isPattern = id.includes('*')
    for (const [where, values] of [['litellm_params', params], ['model_info', info]] as const) {
      for (const field of Object.keys(values).filter(each => each !== 'mode' && Object.hasOwn(costs, each))) {
        const { [field]: _, ...others } = costs
        const isRead = !isPattern && JSON.stringify(priceOf(others)) !== JSON.stringify(price)
        const which = isPattern ? 'each of these models' : id
        const note = isRead ? `\`price\` of ${id}` : `set \`price\` of ${which} under \`models\``
        this.#plan.note(`${path}.${where}.${field}`, isRead ? 'exact' : 'manual', note)
      }
      for (const [from, to] of Object.entries(capabilityNames)) {
        const value = values[from]
        if (typeof value !== 'number' && typeof value !== 'boolean') continue
        can[to] ??= value
        const note = isPattern
          ? `set \`capabilities.${to}\` of each of these models under \`models\``
          : `\`capabilities.${to}\` of ${id}`
        this.#plan.note(`${path}.${where}.${from}`, isPattern ? 'manual' : 'exact', note)
      }
    }
    if (price === undefined && isEmpty(can) || isPattern) return
    const known = this.known.get(id) ?? {}
    const capabilities = { ...objectOrEmpty(known['capabilities']), ...can }
    this.known.set(id, {
      ...known, ...!isEmpty(capabilities) && { capabilities }, ...price !== undefined && { price }
    })
  }
}

/** Returns the name of a model; names that are numbers count as text. */
function nameIn (value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : nonEmptyText(value)
}

/** Names a provider: by its kind if it is that service, otherwise by its prefix or its host. */
function providerName (
  prefix: string,
  row: ProviderRow,
  { kind, base_url: address = '' }: ImportedProvider
): string {
  if (kind === row.kind && kind !== 'openai-compatible') return kind
  if (row.baseUrl !== undefined) return prefix.replaceAll('_', '-')
  const { hostname, port } = URL.canParse(address) ? new URL(address) : { hostname: prefix, port: '' }
  const name = port === '' ? hostname : `${hostname}-${port}`
  return name.toLowerCase().replaceAll(/[^a-z0-9._-]/g, '-').replace(/^[._-]+/, '')
}

function isOpenAi (address: string): boolean {
  return /^https:\/\/(?:[a-z]+\.)?api\.openai\.com(?:\/|$)/.test(address)
}
