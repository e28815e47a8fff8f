/**
 * Reads the access rules of Bifrost: its virtual keys, with their teams and customers, which become projects.
 * Keys are imported by digest, so they continue to work.
 */

import { createHash } from 'node:crypto'
import {
  bifrostReferences,
  type Account,
  type BifrostDeps,
  type BifrostProviders
} from './bifrost-providers.ts'
import { modelAt, serving } from './bifrost-routes.ts'
import { readBifrostBudget, type BifrostBudget } from './bifrost-budgets.ts'
import { spreadSpending } from './litellm-budgets.ts'
import { parseIsoDate } from '../core/parse-iso-date.ts'
import { isEmpty, amountOf, objectOrEmpty } from './values.ts'
import { variableIn } from './secrets.ts'
import type {
  ImportedKey,
  ImportedOrganisation,
  ImportedProject,
  ImportedSpending
} from '../accounts/imported-organisation.ts'
import type { PartyLimits } from '../core/key.ts'
import { listOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'

export interface BifrostAccess {
  readonly organisation: ImportedOrganisation
  /** Variables of virtual keys that this process lacks: without them these keys would be lost. */
  readonly missing: readonly string[]
}

export interface AccessOptions extends BifrostDeps {
  readonly providers: BifrostProviders
  /** Slugs of tool servers by their names and ids. */
  readonly servers: ReadonlyMap<string, string>
  /** Slugs of tool servers that every key may use. */
  readonly openServers: readonly string[]
  readonly nowMs: number
}

type PartyKind = 'virtual_key' | 'team' | 'customer'

interface Party {
  readonly kind: PartyKind
  readonly id: string
  readonly row: JsonObject
  readonly path: string
}

interface ImportedLimits {
  readonly limits?: PartyLimits
  /** True if a limit is 0: nothing is allowed. */
  readonly isNothing: boolean
  readonly spent: readonly ImportedSpending[]
}

const maxBudgets = 8
/** For shorter keys, four characters would reveal too much. */
const minHintedLength = 16
const sections = { virtual_key: 'virtual_keys', team: 'teams', customer: 'customers' } as const
/** Limits that are one number, with their place in a rate limit. */
const rates = [
  ['request', 'requestsPerMinute', 'requests'],
  ['token', 'tokensPerMinute', 'tokens']
] as const

/** Parts of a rate limit without a meaning for a new count. */
const rateDetails = [
  'id', 'metric', 'calendar_aligned', 'token_current_usage', 'request_current_usage', 'token_last_reset',
  'request_last_reset'
]

/** Returns the organisation; empty if the file has no virtual keys. */
export function readBifrostAccess (governance: JsonObject, options: AccessOptions): BifrostAccess {
  return new AccessReader(governance, options).read()
}

class AccessReader {
  readonly #governance: JsonObject
  readonly #options: AccessOptions
  readonly #missing: string[] = []
  /** Projects with a limit of zero, which no limit here can express: their keys are revoked. */
  readonly #emptyProjects = new Set<string>()

  constructor (governance: JsonObject, options: AccessOptions) {
    this.#governance = governance
    this.#options = options
  }

  read (): BifrostAccess {
    const keys = this.#parties('virtual_key')
    const owners = [...this.#parties('team'), ...this.#parties('customer')]
      .filter(({ kind, id }) => kind === 'team' || keys.some(({ row }) => row['customer_id'] === id))
    const read = keys.flatMap(key => this.#readKey(key, owners))
    const projects = owners.map(owner => this.#readProject(owner, read))
    this.#noteSharedCustomers(owners)
    this.#noteUnowned()
    return {
      organisation: {
        users: [],
        projects,
        keys: read.map(key => this.#emptyProjects.has(key.project ?? '') ? { ...key, isBlocked: true } : key)
      },
      missing: this.#missing
    }
  }

  #parties (kind: PartyKind): Party[] {
    const section = sections[kind]
    return listOf(this.#governance[section]).map(objectOrEmpty).map((row, index) => ({
      kind,
      id: nonEmptyText(row['id']) ?? nonEmptyText(row['name']) ?? '',
      row,
      path: `governance.${section}[${index}]`
    }))
  }

  #readKey (party: Party, owners: readonly Party[]): ImportedKey[] {
    const { row, path, id } = party
    const { plan } = this.#options
    const value = this.#valueOf(row['value'], path)
    if (value === undefined) return []
    const { limits, isNothing, spent } = this.#readLimits(party)
    const models = this.#readModels(row, path)
    const mcpServers = this.#readServers(row, path)
    const owner = owners.find(({ kind, id: own }) => row[`${kind}_id`] === own)
    const expiresAtMs = parseIsoDate(nonEmptyText(row['expires_at']) ?? '')
    plan.noteFields(path, ['id', 'name'], 'exact', 'names it')
    const project = owner === undefined ? 'the file has no such owner' : `in the project ${partyName(owner)}`
    plan.noteFields(path, ['team_id', 'customer_id'], owner === undefined ? 'manual' : 'exact', project)
    plan.note(`${path}.is_active`, 'exact', row['is_active'] === false ? 'revoked' : 'it works')
    plan.note(`${path}.expires_at`, 'exact', 'the time at which it expires')
    plan.note(`${path}.description`, 'approximate', 'only a description')
    plan.note(`${path}.value`, 'exact', 'by its digest: it still works')
    return [{
      digest: createHash('sha256').update(value).digest('base64'),
      name: partyName(party),
      ...value.length >= minHintedLength && { hint: `…${value.slice(-4)}` },
      models,
      ...mcpServers !== undefined && { mcpServers },
      ...limits !== undefined && { limits },
      ...!Number.isNaN(expiresAtMs) && { expiresAtMs },
      ...owner !== undefined && { project: sourceIdOf(owner) },
      createdAtMs: this.#options.nowMs,
      isBlocked: row['is_active'] === false || isNothing || id === '',
      spent: spreadSpending(spent, this.#options.nowMs)
    }]
  }

  /** Returns the key itself, which may be in a variable. */
  #valueOf (given: unknown, path: string): string | undefined {
    const { plan, env } = this.#options
    const text = nonEmptyText(given)
    const variable = variableIn(text, bifrostReferences)
    const value = variable === undefined ? text : env[variable]
    if (value !== undefined && value !== '' && !value.startsWith('vault.')) return value
    if (variable !== undefined) {
      this.#missing.push(variable)
      plan.note(path, 'manual', `set ${variable}: the key is read from it`)
    } else plan.note(path, 'manual', 'write its value to `value`: the file does not have it')
    return undefined
  }

  #readProject (party: Party, keys: readonly ImportedKey[]): ImportedProject {
    const { plan, nowMs } = this.#options
    const { path } = party
    const { limits, isNothing, spent } = this.#readLimits(party)
    const sourceId = sourceIdOf(party)
    if (isNothing) this.#emptyProjects.add(sourceId)
    plan.noteFields(path, ['id', 'name', 'source_id'], 'exact', 'a project')
    plan.note(`${path}.business_unit_id`, 'unsupported', 'projects are not nested')
    plan.note(`${path}.virtual_key_count`, 'exact', 'follows from the keys')
    const descriptions = ['profile', 'config', 'claims']
    plan.noteFields(path, descriptions, 'approximate', 'only a description')
    const ofKeys = keys.filter(({ project }) => project === sourceId).flatMap(key => key.spent)
    const countedSince = (fromMs: number): number =>
      ofKeys.reduce((sum, each) => sum + (each.fromMs >= fromMs ? each.nanoUsd : 0), 0)
    return {
      sourceId,
      name: partyName(party),
      ...limits !== undefined && { limits },
      createdAtMs: nowMs,
      members: [],
      spent: spreadSpending(spent, nowMs, countedSince)
    }
  }

  /** Returns the models of each account that the key may use; no provider means none. */
  #readModels (row: JsonObject, path: string): readonly string[] {
    return listOf(row['provider_configs']).map(objectOrEmpty).flatMap((config, index) =>
      this.#readProviderConfig(config, `${path}.provider_configs[${index}]`))
  }

  #readProviderConfig (config: JsonObject, path: string): readonly string[] {
    const { plan, providers } = this.#options
    const name = nonEmptyText(config['provider']) ?? ''
    const all = providers.accounts.get(name)
    if (all === undefined) {
      plan.note(path, 'unsupported', `no provider here serves ${name}`)
      return []
    }
    plan.noteFields(path, ['id', 'virtual_key_id'], 'exact', 'names it')
    plan.note(`${path}.provider`, 'exact', all.map(({ id }) => id).join(', '))
    plan.note(`${path}.weight`, 'approximate', 'without it, all providers of a model have the same share')
    plan.note(`${path}.rate_limit_id`, 'unsupported', 'there are no limits for a provider: the key has limits for all')
    const accounts = this.#accountsOf(config, all, path)
    const allowed = providers.allowed(config['allowed_models'])
    const blocked = listOf(config['blacklisted_models']).map(String)
    const models = accounts.flatMap(account => modelsAt(account, allowed, blocked))
    plan.note(`${path}.allowed_models`, 'exact', models.length === 0 ? 'none' : models.join(', '))
    if (blocked.length > 0 && models.some(model => model.endsWith('/*'))) {
      plan.note(`${path}.blacklisted_models`, 'unsupported', 'list the models that are allowed')
    }
    plan.note(`${path}.blacklisted_models`, 'exact', 'not among the models of the key')
    return models
  }

  /** Returns the accounts of which a key may use at least one key. */
  #accountsOf (config: JsonObject, all: readonly Account[], path: string): readonly Account[] {
    const { plan, providers } = this.#options
    const named = providers.allowed(config['key_ids'])
    const accounts = all.filter(({ keys }) =>
      named === undefined || keys.length === 0 || keys.some(key => named.includes(key.name)))
    const isWider = accounts.some(({ keys }) =>
      named !== undefined && keys.some(key => !named.includes(key.name)))
    if (isWider) {
      plan.note(`${path}.key_ids`, 'approximate', 'all keys of the provider that serve the same models')
    }
    plan.note(`${path}.key_ids`, 'exact', accounts.length === 0 ? 'none' : 'keys of these providers')
    return accounts
  }

  /** Without tool servers there is nothing to restrict. */
  #readServers (row: JsonObject, path: string): readonly string[] | undefined {
    const { plan, servers, openServers } = this.#options
    const granted = listOf(row['mcp_configs']).map(objectOrEmpty).flatMap((config, index) => {
      const at = `${path}.mcp_configs[${index}]`
      const slug = servers.get(nonEmptyText(config['mcp_client_name']) ?? String(config['mcp_client_id']))
      const tools = listOf(config['tools_to_execute']).map(String)
      if (slug === undefined) {
        plan.note(at, 'unsupported', 'the file has no such tool server')
        return []
      }
      plan.noteFields(at, ['id', 'virtual_key_id', 'mcp_client_id', 'mcp_client_name'], 'exact', slug)
      if (tools.length > 0 && !tools.includes('*')) {
        const note = 'a key may use all tools of a server or none: it may not use this one'
        plan.note(`${at}.tools_to_execute`, 'unsupported', note)
      }
      const which = tools.length === 0 ? 'none: the key may not use it' : 'all its tools'
      plan.note(`${at}.tools_to_execute`, 'exact', which)
      return tools.includes('*') ? [slug] : []
    })
    return servers.size === 0 ? undefined : [...new Set([...openServers, ...granted])]
  }

  #readLimits (party: Party): ImportedLimits {
    const { plan } = this.#options
    const found = this.#budgetsOf(party)
    const budgets = found.slice(0, maxBudgets).filter(({ amount }) => amount > 0)
    for (const { path } of found.slice(maxBudgets)) {
      plan.note(path, 'unsupported', `at most ${maxBudgets} budgets`)
    }
    const { amounts, isNothing } = this.#ratesOf(party)
    const limits = { ...amounts, ...budgets.length > 0 && { budgets: budgets.map(({ budget }) => budget) } }
    return {
      ...!isEmpty(limits) && { limits },
      isNothing: isNothing || found.some(({ amount }) => amount === 0),
      spent: budgets.map(({ spent }) => spent)
    }
  }

  /** Finds the budgets that name a party, that the party names, or that are inside it. */
  #budgetsOf ({ kind, id, row, path }: Party): BifrostBudget[] {
    const { plan, nowMs } = this.#options
    const ids = [row['budget_id'], ...listOf(row['budget_ids'])]
    const named = new Set(ids.flatMap(each => nonEmptyText(each) ?? []))
    plan.noteFields(path, ['budget_id', 'budget_ids'], 'exact', 'see the line of the budget')
    plan.note(`${path}.calendar_aligned`, 'exact', 'periods of its budgets')
    const own = placed(row['budgets'], `${path}.budgets`)
    const shared = placed(this.#governance['budgets'], 'governance.budgets')
      .filter(({ entry }) => named.has(String(entry['id'])) || entry[`${kind}_id`] === id)
    return [...own, ...shared].flatMap(({ entry: budget, at }) => {
      const isAligned = row['calendar_aligned'] === true || budget['calendar_aligned'] === true
      const read = readBifrostBudget(budget, { path: at, isAligned, nowMs })
      if (read === undefined) plan.note(at, 'unsupported', 'has no amount, or a length that is not known')
      else plan.note(at, read.verdict, read.note)
      return read ?? []
    })
  }

  #ratesOf ({ row, path }: Party): { readonly amounts: PartyLimits, readonly isNothing: boolean } {
    const { plan } = this.#options
    const id = nonEmptyText(row['rate_limit_id'])
    const index = listOf(this.#governance['rate_limits'])
      .findIndex(limit => objectOrEmpty(limit)['id'] === id)
    const amounts: Record<string, number> = {}
    let isNothing = false
    if (id === undefined || index === -1) {
      plan.note(`${path}.rate_limit_id`, 'manual', 'the file has no such rate limit')
      return { amounts, isNothing }
    }
    plan.note(`${path}.rate_limit_id`, 'exact', 'see the line of the rate limit')
    const limit = objectOrEmpty(listOf(this.#governance['rate_limits'])[index])
    const at = `governance.rate_limits[${index}]`
    for (const [unit, member, what] of rates) {
      const amount = amountOf(limit[`${unit}_max_limit`])
      const duration = nonEmptyText(limit[`${unit}_reset_duration`]) ?? '1m'
      const isMinute = duration === '1m' || duration === '60s'
      if (amount === undefined) continue
      if (amount < 1) isNothing = true
      else if (isMinute) amounts[member] = Math.floor(amount)
      const note = isMinute
        ? `${what} a minute`
        : `limits are of a minute: set one for ${amount} ${what} every ${duration}`
      for (const field of ['max_limit', 'reset_duration']) {
        const entry = `${at}.${unit}_${field}`
        if (amount < 1) plan.note(entry, 'exact', 'revoked: none are allowed')
        else plan.note(entry, isMinute ? 'exact' : 'manual', note)
      }
    }
    return { amounts, isNothing }
  }

  /** A customer with teams limits several projects together. */
  #noteSharedCustomers (owners: readonly Party[]): void {
    const { plan } = this.#options
    const why = 'there are no limits for several projects: give each its own'
    for (const { path } of owners) {
      plan.note(`${path}.customer_id`, 'approximate', 'projects are not nested')
    }
    for (const { id, row, path } of this.#parties('customer')) {
      const isShared = owners.some(owner => owner.row['customer_id'] === id)
      const isProject = owners.some(owner => owner.path === path)
      if (isShared) {
        plan.noteFields(path, ['budget_id', 'budgets', 'rate_limit_id'], 'unsupported', why)
        for (const { entry, at } of placed(this.#governance['budgets'], 'governance.budgets')) {
          const isNamed = entry['id'] !== undefined && entry['id'] === row['budget_id']
          if (isNamed || entry['customer_id'] === id) plan.note(at, 'unsupported', why)
        }
      }
      if (!isProject) plan.note(path, isShared ? 'unsupported' : 'exact', isShared ? why : 'it has no keys')
    }
  }

  /** Lists budgets and rate limits that belong to no key and no project. */
  #noteUnowned (): void {
    const { plan } = this.#options
    const nobody = 'no key and no team that was read has it'
    for (const { entry, at } of placed(this.#governance['budgets'], 'governance.budgets')) {
      if (plan.has(at)) continue
      if (entry['provider_config_id'] !== undefined) {
        plan.note(at, 'unsupported', 'there is no budget for a provider')
      } else if (entry['model_config_id'] !== undefined) {
        plan.note(at, 'unsupported', 'there is no budget for one model')
      } else plan.note(at, 'exact', nobody)
    }
    for (const { at } of placed(this.#governance['rate_limits'], 'governance.rate_limits')) {
      plan.noteFields(at, rateDetails, 'exact', 'counting starts anew')
      for (const [unit] of rates) {
        for (const field of [`${unit}_max_limit`, `${unit}_reset_duration`]) {
          if (!plan.has(`${at}.${field}`)) plan.note(`${at}.${field}`, 'exact', nobody)
        }
      }
    }
  }
}

/** Returns the entries of a list with their paths. */
function placed (
  list: unknown,
  path: string
): ReadonlyArray<{ readonly entry: JsonObject, readonly at: string }> {
  return listOf(list).map((entry, index) => ({ entry: objectOrEmpty(entry), at: `${path}[${index}]` }))
}

function partyName ({ row, id }: Party): string {
  return nonEmptyText(row['name']) ?? id
}

/** Returns the identifier of an owner in the store, whatever the form of its id. */
function sourceIdOf ({ kind, id }: Party): string {
  return createHash('sha256').update(`${kind} ${id}`).digest('base64')
}

/** Returns the ids of the models at an account that a key may use. */
function modelsAt (
  account: Account,
  allowed: readonly string[] | undefined,
  blocked: readonly string[]
): readonly string[] {
  const names = allowed?.filter(name => serving([account], name).length > 0) ?? account.models
  if (blocked.includes('*')) return []
  if (names === undefined) return [`${account.id}/*`]
  return names.filter(name => !blocked.includes(name)).map(name => modelAt(account, name))
}
