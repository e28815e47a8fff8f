/**
 * Converts the `config.yaml` of LiteLLM's proxy into a configuration. Names that callers use are kept. Every
 * entry gets a row in the plan, even without a counterpart.
 */

import { LitellmModels, type Deployment } from './litellm-models.ts'
import { budgetClock } from './litellm-budgets.ts'
import { readCache } from './litellm-cache.ts'
import { readEndUsers, type StoredBudgets } from './litellm-named-budgets.ts'
import { readGuardrails } from './litellm-guardrails.ts'
import { readTelemetry } from './litellm-telemetry.ts'
import { settingNotes } from './litellm-notes.ts'
import { ImportPlan, type PlanRow, type Verdict } from './plan.ts'
import { ImportedSecrets, variableIn } from './secrets.ts'
import { entriesOf, isEmpty, isPlainAddress, milliseconds, amountOf, objectOrEmpty } from './values.ts'
import { freeSlug, plainArguments, toolServerSlug } from './imported-tool-servers.ts'
import type { ImportedConfig } from './imported-config.ts'
import { isContainer, isObject, listOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'
import { fillPattern, isPattern, patternFinder } from '../models/name-patterns.ts'

export interface ImportedLitellm extends ImportedConfig {
  /** The names of the guards of each guardrail, which keys and teams may name. */
  readonly guardsOf: ReadonlyMap<string, readonly string[]>
}

/** The routing strategy for each of LiteLLM's. Those with the same rule are exact. */
const strategies: ReadonlyMap<string, readonly [strategy: string, verdict: Verdict]> = new Map([
  ['simple-shuffle', ['weighted', 'exact']],
  ['least-busy', ['balanced', 'approximate']],
  ['latency-based-routing', ['fastest', 'approximate']],
  ['usage-based-routing', ['balanced', 'approximate']],
  ['usage-based-routing-v2', ['balanced', 'approximate']],
  ['cost-based-routing', ['cheapest', 'approximate']]
])

/** LiteLLM's limit, `max_fallbacks`. */
const maxFallbackDepth = 5

type FallbackField = 'fallbacks' | 'context_window_fallbacks'

const fallbackEntries: ReadonlyArray<readonly [entry: FallbackField, verdict: Verdict, note: string]> = [
  ['fallbacks', 'exact', 'the last models of the route'],
  [
    'context_window_fallbacks',
    'approximate',
    'the last models of the route; a prompt that is too long skips a model'
  ]
]

export interface LitellmConfigOptions {
  readonly nowMs?: number
  /** Budgets that the database has. */
  readonly stored?: StoredBudgets
  /** Variables whose values addresses and other entries that are no secrets refer to. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** @param file the parsed `config.yaml`, with the files that it includes */
export function importLitellmConfig (file: JsonObject, options: LitellmConfigOptions = {}): ImportedLitellm {
  const { imported, shadowed } = convert(file, options)
  // a name that is also the id of a model would hide that model from the routes that lead to it
  return shadowed.size === 0 ? imported : convert(file, options, shadowed).imported
}

interface Converted {
  readonly imported: ImportedLitellm
  /** Providers that have a model whose id is also a name of the file. */
  readonly shadowed: ReadonlySet<string>
}

function convert (
  file: JsonObject,
  { nowMs = Date.now(), stored = { tags: [] }, env = {} }: LitellmConfigOptions,
  reserved: ReadonlySet<string> = new Set()
): Converted {
  const plan = new ImportPlan(file)
  const secrets = new ImportedSecrets(file, plan)
  readVariables(file, secrets, plan)
  const ownVariables = new Map(secrets.values)
  const clock = budgetClock(file, nowMs)
  const models = new LitellmModels(file, plan, secrets, clock, {
    env: { ...Object.fromEntries(ownVariables), ...env }, reserved
  })
  const routing = new LitellmRouting(file, models, plan)
  const sections = routing.sections()
  const servers = toolServers(file, secrets, plan)
  const callbacks = readCallbacks(file, plan, secrets)
  const { stages, guardsOf } = readGuardrails(listOf(file['guardrails']), { plan, secrets, models })
  const cache = readCache(file, plan)
  const endUsers = readEndUsers(file, plan, stored, clock)
  const limits = {
    ...stored.tags.length > 0 && { tags: stored.tags },
    ...models.budgets.size > 0 && { models: [...models.budgets.values()] }
  }
  for (const [entry, verdict, note] of settingNotes) {
    const [section = '', field = ''] = entry.split('.')
    const isFalse = objectOrEmpty(file[section])[field] === false
    if (isFalse && isOffHere(entry, verdict)) plan.note(entry, 'exact', 'off')
    else plan.note(entry, verdict, note)
  }
  for (const field of Object.keys(file)) {
    if (field.startsWith('x-')) plan.note(field, 'exact', 'read where an entry refers to it')
  }
  plan.noteOthers()
  const imported: ImportedLitellm = {
    config: {
      server: { compatibility: 'litellm' },
      providers: Object.fromEntries(models.providers),
      ...sections,
      ...!isEmpty(servers) && { mcp_servers: servers },
      ...!isEmpty(limits) && { limits },
      ...endUsers !== undefined && { end_users: endUsers },
      ...stages.length > 0 && { stages },
      ...cache !== undefined && { cache },
      ...callbacks
    },
    secrets: secrets.values,
    rows: [...plan.rows, metadataRow],
    guardsOf
  }
  return { imported, shadowed: routing.shadowed(sections) }
}

/** Belongs to no entry: LiteLLM accepts any `metadata` from callers without a setting. */
const metadataRow: PlanRow = {
  path: 'metadata of requests',
  verdict: 'approximate',
  note: '`server.compatibility: litellm`: values that are not strings are recorded, cut at 512 characters'
}

function readVariables (file: JsonObject, secrets: ImportedSecrets, plan: ImportPlan): void {
  for (const [name, value] of entriesOf(file['environment_variables'])) {
    const path = `environment_variables.${name}`
    const other = variableIn(value)
    if (!/^[A-Za-z_]\w*$/.test(name)) plan.note(path, 'unsupported', 'is not the name of a variable')
    else if (isContainer(value)) plan.note(path, 'unsupported', 'is not text')
    else if (other === undefined) secrets.values.set(name, String(value))
    else if (other !== name) plan.note(path, 'manual', `set ${name} to the value of ${other}`)
    plan.note(path, 'exact', `env:${name}`)
  }
}

/** Returns `metrics` and `telemetry`, if the callbacks require them. */
function readCallbacks (file: JsonObject, plan: ImportPlan, secrets: ImportedSecrets): JsonObject {
  const settings = objectOrEmpty(file['litellm_settings'])
  const sections: Record<string, unknown> = {}
  for (const field of ['callbacks', 'success_callback', 'failure_callback']) {
    for (const [index, callback] of [settings[field] ?? []].flat().entries()) {
      const path = `litellm_settings.${field}${Array.isArray(settings[field]) ? `[${index}]` : ''}`
      if (callback === 'prometheus') {
        sections['metrics'] = {}
        plan.note(path, 'exact', '`metrics`, on a port of their own')
      } else if (callback === 'otel') {
        const telemetry = readTelemetry(file, path, plan, secrets)
        if (telemetry !== undefined) sections['telemetry'] = telemetry
      } else plan.note(path, 'manual', 'each call is in the log and the store: docs/operations.md')
    }
  }
  return sections
}

/** Routes and aliases: the names that callers use. */
class LitellmRouting {
  readonly #models: LitellmModels
  readonly #plan: ImportPlan
  readonly #strategy: string
  /** The lists of each kind, by the name that they are for; `*` is for names without one. */
  readonly #fallbacks: Readonly<Record<FallbackField, Map<string, string[]>>> = {
    fallbacks: new Map(), context_window_fallbacks: new Map()
  }

  readonly #aliases = new Map<string, string>()
  #findPattern: ((name: string) => string | undefined) | undefined

  constructor (file: JsonObject, models: LitellmModels, plan: ImportPlan) {
    this.#models = models
    this.#plan = plan
    const router = objectOrEmpty(file['router_settings'])
    const wanted = nonEmptyText(router['routing_strategy']) ?? 'simple-shuffle'
    const [strategy, verdict] = strategies.get(wanted) ?? ['weighted', 'unsupported']
    this.#strategy = strategy
    plan.note('router_settings.routing_strategy', verdict, `\`strategy: ${strategy}\` of the routes`)
    for (const [alias, target] of entriesOf(router['model_group_alias'])) {
      const { model = target, hidden } = objectOrEmpty(target)
      this.#aliases.set(alias, String(model))
      const path = `router_settings.model_group_alias.${alias}`
      if (hidden === true) plan.note(path, 'approximate', `alias of ${String(model)}, which is listed`)
      else plan.note(path, 'exact', `alias of ${String(model)}`)
    }
    for (const section of ['router_settings', 'litellm_settings']) {
      const settings = objectOrEmpty(file[section])
      this.#readFallbacks(settings, section)
      this.#readAttempts(settings, section)
    }
    // a stream without a timeout of its own has that of other calls
    for (const provider of models.providers.values()) {
      const { response_ms: first_byte_ms } = provider.timeouts ?? {}
      if (first_byte_ms !== undefined) provider.timeouts = { first_byte_ms, ...provider.timeouts }
    }
  }

  /** Returns `models` and `routes`. */
  sections (): { readonly models?: JsonObject, readonly routes?: JsonObject } {
    const models = new Map<string, unknown>(this.#models.known)
    const routes = new Map<string, unknown>()
    for (const [name, deployments] of this.#models.deployments) {
      const fallbacks = isPattern(name) ? [] : this.#fallbacksOf(name)
      const [first, ...others] = deployments
      if (first === undefined) continue
      if (isPattern(name)) {
        if (first.model !== name) models.set(name, { alias: first.model })
        for (const { path } of others) {
          this.#plan.note(
            `${path}.model_name`,
            'unsupported',
            `names with \`*\` lead to one provider: ${first.model}`
          )
        }
        for (const field of Object.keys(first.settings)) {
          const why = 'models behind a name with `*` have no defaults'
          this.#plan.note(`${first.path}.litellm_params.${field}`, 'unsupported', why)
        }
      } else if (deployments.length + fallbacks.length > 1 || !isEmpty(first.settings)) {
        routes.set(name, this.#route(deployments, fallbacks))
      } else if (first.model !== name) models.set(name, { alias: first.model })
    }
    const own = this.#namesWithOwnFallbacks()
    for (const name of own) routes.set(name, this.#route(this.#deploymentsOf(name), this.#fallbacksOf(name)))
    for (const [alias, name] of this.#aliases) {
      if (own.has(alias)) continue
      const isTaken = routes.has(alias) || models.has(alias)
      if (this.#isServed(alias) && !isTaken && !/\s/.test(alias)) {
        const target = this.#targetOf(alias) ?? name
        const [served] = this.#models.deployments.has(target) ? [] : this.#deploymentsOf(target)
        models.set(alias, { alias: served?.model ?? name })
      } else {
        const why = isTaken ? 'a model has this name' : `no entry of model_list serves ${name}`
        const path = `router_settings.model_group_alias.${alias}`
        this.#plan.note(path, 'unsupported', /\s/.test(alias) ? 'names have no spaces here' : why)
      }
    }
    return {
      ...models.size > 0 && { models: Object.fromEntries(models) },
      ...routes.size > 0 && { routes: Object.fromEntries(routes) }
    }
  }

  /** Returns the providers with a model whose id is the name of something else. */
  shadowed ({ models = {}, routes = {} }: ReturnType<LitellmRouting['sections']>): ReadonlySet<string> {
    const isName = (id: string): boolean =>
      Object.hasOwn(routes, id) || objectOrEmpty(models[id])['alias'] !== undefined
    const behind = [...this.#models.deployments.values(), ...[...this.#namesWithOwnFallbacks()].map(
      name => this.#deploymentsOf(name)
    )]
    const ids = behind.flat().map(({ model }) => model)
    return new Set(ids.filter(isName).map(id => id.slice(0, id.indexOf('/'))))
  }

  /** Returns the names without an entry of their own, such as aliases, that have fallbacks. */
  #namesWithOwnFallbacks (): ReadonlySet<string> {
    const named = Object.values(this.#fallbacks).flatMap(lists => [...lists.keys()])
    return new Set(named.filter(
      name => !isPattern(name) && !this.#models.deployments.has(name) && this.#isServed(name)
    ))
  }

  #readFallbacks (settings: JsonObject, section: string): void {
    for (const [field, verdict, note] of fallbackEntries) {
      for (const [index, fallback] of listOf(settings[field]).entries()) {
        const path = `${section}.${field}[${index}]`
        const entries = typeof fallback === 'string' ? [['*', [fallback]] as const] : entriesOf(fallback)
        for (const [name, others] of entries) {
          const names = namesOf(others)
          const unknown = [...name === '*' ? [] : [name], ...names].find(each => !this.#isServed(each))
          if (unknown !== undefined) {
            this.#plan.note(path, 'unsupported', `no entry of model_list serves ${unknown}`)
          } else if (name !== '*' && isPattern(name)) {
            this.#plan.note(path, 'unsupported', 'names with `*` have no fallbacks: list the models')
          }
          this.#addFallbacks(field, name, names)
          if (name === '*') this.#noteGeneric(path, note)
        }
        this.#plan.note(path, verdict, note)
      }
    }
    this.#plan.note(
      `${section}.content_policy_fallbacks`,
      'unsupported',
      'a request whose content a provider refuses ends there: no other model gets it'
    )
    const general = namesOf(settings['default_fallbacks'])
    this.#addFallbacks('fallbacks', '*', general)
    const unknown = general.find(each => !this.#isServed(each))
    const path = `${section}.default_fallbacks`
    if (unknown !== undefined) {
      this.#plan.note(path, 'unsupported', `no entry of model_list serves ${unknown}`)
    }
    this.#noteGeneric(path, 'the last models of every route without fallbacks of its own')
    this.#plan.note(path, 'exact', 'the last models of every route without fallbacks of its own')
  }

  /** Notes where fallbacks for all names are less than that. */
  #noteGeneric (path: string, note: string): void {
    if ([...this.#models.deployments.keys()].some(isPattern)) {
      this.#plan.note(path, 'approximate', `${note}; names with \`*\` have none`)
    }
  }

  #addFallbacks (field: FallbackField, name: string, others: readonly string[]): void {
    if (others.length === 0) return
    const lists = this.#fallbacks[field]
    lists.set(name, [...lists.get(name) ?? [], ...others])
  }

  /** Returns the models to try after those of a name. A fallback is followed by its own ones. */
  #fallbacksOf (name: string): readonly Deployment[] {
    const seen = new Set([name])
    const follow = (from: string, depth: number): void => {
      for (const lists of Object.values(this.#fallbacks)) {
        for (const other of lists.get(from) ?? lists.get('*') ?? []) {
          if (seen.has(other)) continue
          seen.add(other)
          if (depth < maxFallbackDepth) follow(other, depth + 1)
        }
      }
    }
    follow(name, 1)
    seen.delete(name)
    return [...seen].flatMap(other => this.#deploymentsOf(other))
  }

  #readAttempts (settings: JsonObject, section: string): void {
    const providers = [...this.#models.providers.values()]
    const retries = amountOf(settings['num_retries'])
    if (retries !== undefined) {
      for (const provider of providers) provider.retries ??= Math.min(10, Math.floor(retries))
      this.#plan.note(`${section}.num_retries`, 'exact', '`retries` of every provider')
    }
    for (const [field, to] of [
      ['timeout', 'response_ms'], ['request_timeout', 'response_ms'], ['stream_timeout', 'first_byte_ms']
    ] as const) {
      const seconds = amountOf(settings[field])
      if (seconds === undefined) continue
      for (const provider of seconds > 0 ? providers : []) {
        provider.timeouts = { [to]: milliseconds(seconds), ...provider.timeouts }
      }
      this.#plan.note(`${section}.${field}`, 'exact', `\`timeouts.${to}\` of every provider`)
    }
  }

  /** Returns the models behind a name: groups that stand in for each other cannot refer to each other. */
  #deploymentsOf (name: string): readonly Deployment[] {
    const target = this.#targetOf(name)
    if (target === undefined) return []
    const found = this.#models.deployments.get(target)
    if (found !== undefined) return found
    const pattern = this.#patternOf(target) ?? ''
    return (this.#models.deployments.get(pattern) ?? []).slice(0, 1).map(
      first => ({ ...first, model: fillPattern(pattern, first.model, target), settings: {} })
    )
  }

  /** Returns the name of `model_list` that a name leads to, or one that an entry with `*` serves. */
  #targetOf (name: string): string | undefined {
    const passed = new Set<string>()
    for (let at: string | undefined = name; at !== undefined && !passed.has(at); at = this.#aliases.get(at)) {
      if (this.#models.deployments.has(at) || this.#patternOf(at) !== undefined) return at
      passed.add(at)
    }
    return undefined
  }

  /** Returns the name with `*` that matches a name. */
  #patternOf (name: string): string | undefined {
    this.#findPattern ??= patternFinder([...this.#models.deployments.keys()].filter(isPattern))
    return this.#findPattern(name)
  }

  /** Fallbacks have no weight: weight 0 comes last. */
  #route (deployments: readonly Deployment[], fallbacks: readonly Deployment[]): JsonObject {
    const isOrdered = deployments.some(({ order }) => order !== undefined)
    const strategy = isOrdered || deployments.length === 1 ? 'in_order' : this.#strategy
    const isWeighted = strategy === 'weighted'
    // if the first one has a weight, LiteLLM sends nothing to those without
    const hasWeights = deployments[0]?.weight !== undefined
    const seen = new Set<string>()
    const ordered = deployments.toSorted((a, b) => (a.order ?? Infinity) - (b.order ?? Infinity) || 0)
    const models = [...ordered, ...fallbacks.map(other => ({ ...other, weight: 0 }))]
      .filter(({ model }) => !seen.has(model) && seen.add(model))
      .map(({ model, weight = hasWeights ? 0 : undefined, settings }) => {
        const more = {
          ...isWeighted && weight !== undefined && { weight },
          // a copy: one object in several routes would be printed as an alias of YAML
          ...!isEmpty(settings) && { settings: structuredClone(settings) }
        }
        return isEmpty(more) ? model : { model, ...more }
      })
    return { strategy, models }
  }

  #isServed (name: string): boolean {
    return this.#targetOf(name) !== undefined
  }
}

/** Returns the names in a list of fallbacks, where some may be `{ model, … }`. */
function namesOf (list: unknown): readonly string[] {
  return listOf(list).map(entry => String(objectOrEmpty(entry)['model'] ?? entry))
}

function toolServers (file: JsonObject, secrets: ImportedSecrets, plan: ImportPlan): JsonObject {
  const servers: Record<string, unknown> = {}
  for (const [name, server] of entriesOf(file['mcp_servers'])) {
    if (!isObject(server)) continue
    const path = `mcp_servers.${name}`
    const { url, command, env, static_headers: fixed, headers = fixed } = server
    if (command === undefined && !isPlainAddress(String(url))) {
      plan.note(path, 'manual', 'add it by hand: its address may hold a secret')
      continue
    }
    const slug = freeSlug(toolServerSlug('litellm', name), servers)
    for (const field of ['authentication_token', 'auth_value', 'auth_type']) {
      const header = `set \`headers\` of ${slug} to a variable that holds the whole value`
      if (server[field] !== 'none') plan.note(`${path}.${field}`, 'manual', header)
    }
    for (const field of ['url', 'transport', 'command', 'description', 'spec_version']) {
      plan.note(`${path}.${field}`, 'exact', `tool server ${slug}`)
    }
    const allowed = listOf(server['allowed_tools']).map(String)
    plan.note(`${path}.allowed_tools`, 'exact', `\`allowed_tools\` of ${slug}`)
    if (server['auth_type'] === 'none') plan.note(`${path}.auth_type`, 'exact', 'the server needs no key')
    const only = allowed.length > 0 ? { allowed_tools: allowed } : {}
    const field = fixed === undefined ? 'headers' : 'static_headers'
    const sent = secrets.referAll(headers, `mcp_${name}`, `${path}.${field}`)
    const variables = secrets.referAll(env, `mcp_${name}`, `${path}.env`)
    const args = plainArguments(server['args'], `${path}.args`, plan)
    servers[slug] = command === undefined
      ? { url, ...!isEmpty(sent) && { headers: sent }, ...only }
      : { command, ...args.length > 0 && { args }, ...!isEmpty(variables) && { env: variables }, ...only }
  }
  return servers
}

/** Returns true for a setting that is off here as well if it is `false`. */
function isOffHere (entry: string, verdict: Verdict): boolean {
  // Certificates are always checked, so `ssl_verify: false` needs a person.
  return verdict === 'unsupported' || (verdict === 'manual' && entry !== 'litellm_settings.ssl_verify')
}
