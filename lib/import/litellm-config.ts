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
import {
  entriesOf,
  isEmpty,
  isPlainAddress,
  listOf,
  milliseconds,
  numberOf,
  objectOf,
  textOf
} from './values.ts'
import { freeSlug, plainArguments, toolServerSlug } from './imported-tool-servers.ts'
import type { ImportedConfig } from './imported-config.ts'
import { isContainer, isObject, type JsonObject } from '../json/type-guards.ts'
import { isPattern, patternFinder } from '../models/name-patterns.ts'

export interface ImportedLitellm extends ImportedConfig {
  /** The names of the guards of each guardrail, which keys and teams may name. */
  readonly stagesOf: ReadonlyMap<string, readonly string[]>
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

const fallbackEntries: ReadonlyArray<readonly [entry: string, verdict: Verdict, note: string]> = [
  ['fallbacks', 'exact', 'the last models of the route'],
  [
    'context_window_fallbacks',
    'approximate',
    'the last models of the route; a prompt that is too long skips a model'
  ]
]

/**
 * @param file the parsed `config.yaml`
 * @param stored budgets that its database has
 */
export function importLitellmConfig (
  file: JsonObject,
  nowMs = Date.now(),
  stored: StoredBudgets = { tags: [] }
): ImportedLitellm {
  const plan = new ImportPlan(file)
  const secrets = new ImportedSecrets(file, plan)
  readVariables(file, secrets, plan)
  const clock = budgetClock(file, nowMs)
  const models = new LitellmModels(file, plan, secrets, clock)
  const routing = new LitellmRouting(file, models, plan)
  const servers = toolServers(file, secrets, plan)
  const callbacks = readCallbacks(file, plan, secrets)
  const { stages, stagesOf } = readGuardrails(listOf(file['guardrails']), { plan, secrets, models })
  const cache = readCache(file, plan)
  const endUsers = readEndUsers(file, plan, stored, clock)
  const limits = {
    ...stored.tags.length > 0 && { tags: stored.tags },
    ...models.budgets.size > 0 && { models: [...models.budgets.values()] }
  }
  for (const [entry, verdict, note] of settingNotes) {
    const [section = '', field = ''] = entry.split('.')
    const isOff = verdict === 'unsupported' && objectOf(file[section])[field] === false
    if (isOff) plan.note(entry, 'exact', 'off')
    else plan.note(entry, verdict, note)
  }
  plan.noteOthers()
  return {
    config: {
      server: { compatibility: 'litellm' },
      providers: Object.fromEntries(models.providers),
      ...routing.sections(),
      ...!isEmpty(servers) && { mcp_servers: servers },
      ...!isEmpty(limits) && { limits },
      ...endUsers !== undefined && { end_users: endUsers },
      ...stages.length > 0 && { stages },
      ...cache !== undefined && { cache },
      ...callbacks
    },
    secrets: secrets.values,
    rows: [...plan.rows, metadataRow],
    stagesOf
  }
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
  const settings = objectOf(file['litellm_settings'])
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
  readonly #fallbacks = new Map<string, Set<string>>()
  readonly #aliases = new Map<string, string>()

  constructor (file: JsonObject, models: LitellmModels, plan: ImportPlan) {
    this.#models = models
    this.#plan = plan
    const router = objectOf(file['router_settings'])
    const wanted = textOf(router['routing_strategy']) ?? 'simple-shuffle'
    const [strategy, verdict] = strategies.get(wanted) ?? ['weighted', 'unsupported']
    this.#strategy = strategy
    plan.note('router_settings.routing_strategy', verdict, `\`strategy: ${strategy}\` of the routes`)
    for (const [alias, target] of entriesOf(router['model_group_alias'])) {
      const { model = target, hidden } = objectOf(target)
      this.#aliases.set(alias, String(model))
      const path = `router_settings.model_group_alias.${alias}`
      if (hidden === true) plan.note(path, 'approximate', `alias of ${String(model)}, which is listed`)
      else plan.note(path, 'exact', `alias of ${String(model)}`)
    }
    for (const section of ['router_settings', 'litellm_settings']) {
      const settings = objectOf(file[section])
      this.#readFallbacks(settings, section)
      this.#readAttempts(settings, section)
    }
  }

  /** Returns `models` and `routes`. */
  sections (): JsonObject {
    const models = new Map<string, unknown>(this.#models.known)
    const routes = new Map<string, unknown>()
    for (const [name, deployments] of this.#models.deployments) {
      const wanted = [...this.#fallbacks.get(name) ?? []]
      const fallbacks = wanted.flatMap(other => other === name ? [] : this.#modelsOf(other))
      const [first, ...others] = deployments
      if (first === undefined) continue
      if (name.includes('*')) {
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
    for (const [alias, name] of this.#aliases) {
      const isTaken = routes.has(alias) || models.has(alias)
      if (this.#isServed(alias) && !isTaken) models.set(alias, { alias: name })
      else
        this.#plan.note(
          `router_settings.model_group_alias.${alias}`,
          'unsupported',
          isTaken ? 'a model has this name' : `no entry of model_list serves ${name}`
        )
    }
    return {
      ...models.size > 0 && { models: Object.fromEntries(models) },
      ...routes.size > 0 && { routes: Object.fromEntries(routes) }
    }
  }

  #readFallbacks (settings: JsonObject, section: string): void {
    for (const [field, verdict, note] of fallbackEntries) {
      for (const [index, fallback] of listOf(settings[field]).entries()) {
        const path = `${section}.${field}[${index}]`
        for (const [name, others] of entriesOf(fallback)) {
          const unknown = listOf(others)
            .map(String)
            .find(other => !this.#isServed(other))
          if (unknown !== undefined) {
            this.#plan.note(path, 'unsupported', `no entry of model_list serves ${unknown}`)
          }
          this.#addFallbacks(name, others)
        }
        this.#plan.note(path, verdict, note)
      }
    }
    this.#plan.note(
      `${section}.content_policy_fallbacks`,
      'unsupported',
      'a request whose content a provider refuses ends there: no other model gets it'
    )
    this.#addFallbacks('*', settings['default_fallbacks'])
    this.#plan.note(`${section}.default_fallbacks`, 'exact', 'the last models of every route')
  }

  #addFallbacks (name: string, others: unknown): void {
    for (const one of name === '*' ? this.#models.deployments.keys() : [name]) {
      const known = this.#fallbacks.get(one) ?? new Set()
      for (const other of listOf(others)) known.add(String(other))
      this.#fallbacks.set(one, known)
    }
  }

  #readAttempts (settings: JsonObject, section: string): void {
    const providers = [...this.#models.providers.values()]
    const retries = numberOf(settings['num_retries'])
    if (retries !== undefined) {
      for (const provider of providers) provider.retries ??= Math.min(10, Math.floor(retries))
      this.#plan.note(`${section}.num_retries`, 'exact', '`retries` of every provider')
    }
    for (const [field, to] of [
      ['timeout', 'response_ms'], ['request_timeout', 'response_ms'], ['stream_timeout', 'first_byte_ms']
    ] as const) {
      const seconds = numberOf(settings[field])
      if (seconds === undefined) continue
      for (const provider of providers) {
        provider.timeouts = { [to]: milliseconds(seconds), ...provider.timeouts }
      }
      this.#plan.note(`${section}.${field}`, 'exact', `\`timeouts.${to}\` of every provider`)
    }
  }

  /** Returns the models behind a name: groups that stand in for each other cannot refer to each other. */
  #modelsOf (name: string): readonly string[] {
    const target = this.#targetOf(name)
    if (target === undefined) return []
    return this.#models.deployments.get(target)?.map(({ model }) => model) ?? [target]
  }

  /** Returns the name of `model_list` that a name leads to, or one that an entry with `*` serves. */
  #targetOf (name: string): string | undefined {
    const names = [...this.#models.deployments.keys()]
    const passed = new Set<string>()
    for (let at: string | undefined = name; at !== undefined && !passed.has(at); at = this.#aliases.get(at)) {
      if (names.includes(at) || patternFinder(names.filter(isPattern))(at) !== undefined) return at
      passed.add(at)
    }
    return undefined
  }

  /** Fallbacks have no weight: weight 0 comes last. */
  #route (deployments: readonly Deployment[], fallbacks: readonly string[]): JsonObject {
    const isOrdered = deployments.some(({ order }) => order !== undefined)
    const strategy = isOrdered || deployments.length === 1 ? 'in_order' : this.#strategy
    const isWeighted = strategy === 'weighted'
    const seen = new Set<string>()
    const models = deployments
      .toSorted((a, b) => (a.order ?? Infinity) - (b.order ?? Infinity) || 0)
      .filter(({ model }) => !seen.has(model) && seen.add(model))
      .map(({ model, weight, settings }) => {
        const more = {
          ...isWeighted && weight !== undefined && { weight },
          ...!isEmpty(settings) && { settings }
        }
        return isEmpty(more) ? model : { model, ...more }
      })
    const others = new Set(fallbacks.filter(model => !seen.has(model)))
    return {
      strategy,
      models: [...models, ...[...others].map(model => (isWeighted ? { model, weight: 0 } : model))]
    }
  }

  #isServed (name: string): boolean {
    return this.#targetOf(name) !== undefined
  }
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
      plan.note(`${path}.${field}`, 'manual', header)
    }
    for (const field of ['url', 'transport', 'command', 'description', 'spec_version']) {
      plan.note(`${path}.${field}`, 'exact', `tool server ${slug}`)
    }
    const field = fixed === undefined ? 'headers' : 'static_headers'
    const sent = secrets.referAll(headers, `mcp_${name}`, `${path}.${field}`)
    const variables = secrets.referAll(env, `mcp_${name}`, `${path}.env`)
    const args = plainArguments(server['args'], `${path}.args`, plan)
    servers[slug] = command === undefined
      ? { url, ...!isEmpty(sent) && { headers: sent } }
      : { command, ...args.length > 0 && { args }, ...!isEmpty(variables) && { env: variables } }
  }
  return servers
}
