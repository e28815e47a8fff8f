/**
 * Creates the names that callers of Bifrost use: `provider/model`, models without a provider, which Bifrost
 * distributes among the providers that have them, and the simple ones of its routing rules.
 */

import { amountOf, objectOrEmpty } from './values.ts'
import type { Account, BifrostProviders } from './bifrost-providers.ts'
import type { ImportPlan } from './plan.ts'
import { listOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'

interface WeightedModel {
  readonly model: string
  readonly weight: number
}

/** `model == "gpt-4o"`, the only condition that a route's name can express. */
const namesModel = /^\s*(?:request\.)?model\s*==\s*(['"])([^'"]+)\1\s*$/

/** Returns the id of a model at an account. */
export function modelAt ({ id, aliases }: Account, name: string): string {
  return `${id}/${aliases.get(name) ?? name}`
}

/** Returns the accounts of a provider that serve a model. */
export function serving (accounts: readonly Account[], name: string): readonly Account[] {
  return accounts.filter(({ models }) => models?.includes(name) !== false)
}

/** Returns `models` and `routes` for the names in the file. */
export function readBifrostNames (
  file: JsonObject,
  { accounts }: Pick<BifrostProviders, 'accounts'>,
  plan: ImportPlan
): JsonObject {
  const models = new Map<string, { readonly alias: string }>()
  const routes = new Map<string, JsonObject>()
  const add = (name: string, targets: readonly WeightedModel[]): void => {
    const [first, ...others] = targets
    if (first === undefined || (others.length === 0 && first.model === name)) return
    if (others.length === 0) models.set(name, { alias: first.model })
    else routes.set(name, { strategy: 'weighted', models: targets })
  }
  const shares = providerShares(file, plan)
  const providersOf = new Map<string, string[]>()
  for (const [provider, own] of accounts) {
    for (const name of namesOf(provider, own, file)) {
      const found = serving(own, name).map(account => ({
        model: modelAt(account, name), weight: account.weight
      }))
      add(`${provider}/${name}`, found)
      if (found.length > 0 && !name.includes('/')) {
        providersOf.set(name, [...providersOf.get(name) ?? [], provider])
      }
    }
    addOpenNames(provider, own, models, plan)
  }
  for (const [name, providers] of providersOf) {
    const shared = providers.length > 1 && shares.size > 0 ? providers.filter(each => shares.has(each)) : []
    add(name, (shared.length > 0 ? shared : providers).map(provider => ({
      model: `${provider}/${name}`, weight: shares.get(provider) ?? 1
    })))
  }
  for (const [name, targets] of readRules(file, accounts, plan)) {
    models.delete(name)
    routes.delete(name)
    add(name, targets)
  }
  return {
    ...models.size > 0 && { models: Object.fromEntries(models) },
    ...routes.size > 0 && { routes: Object.fromEntries(routes) }
  }
}

/** Lists the models of a provider that the file names: in its keys, their aliases and virtual keys. */
function namesOf (provider: string, accounts: readonly Account[], file: JsonObject): ReadonlySet<string> {
  const ofKeys = virtualProviders(file)
    .filter(({ config }) => config['provider'] === provider)
    .flatMap(({ config }) => listOf(config['allowed_models']).map(String))
  const own = accounts.flatMap(({ models = [], aliases }) => [...models, ...aliases.keys()])
  return new Set([...own, ...ofKeys].filter(name => name !== '' && !name.includes('*')))
}

/** Routes unlisted names to the account that serves all models, if it has another name. */
function addOpenNames (
  provider: string,
  accounts: readonly Account[],
  models: Map<string, { readonly alias: string }>,
  plan: ImportPlan
): void {
  const [first, ...others] = accounts.filter(account => account.models === undefined)
  if (first === undefined || first.id === provider) return
  models.set(`${provider}/*`, { alias: `${first.id}/*` })
  for (const { path } of others.flatMap(({ keys }) => keys)) {
    plan.note(`${path}.models`, 'approximate', `models that no list names lead to ${first.id}`)
  }
}

interface VirtualProvider {
  readonly config: JsonObject
  readonly path: string
}

function virtualProviders (file: JsonObject): readonly VirtualProvider[] {
  const keys = listOf(objectOrEmpty(file['governance'])['virtual_keys']).map(objectOrEmpty)
  return keys.flatMap((key, index) => listOf(key['provider_configs']).map((config, position) => ({
    config: objectOrEmpty(config), path: `governance.virtual_keys[${index}].provider_configs[${position}]`
  })))
}

/** Returns the weights of providers among virtual keys; here one route is for all of them. */
function providerShares (file: JsonObject, plan: ImportPlan): ReadonlyMap<string, number> {
  const shares = new Map<string, number>()
  for (const { config, path } of virtualProviders(file)) {
    const [provider, weight] = [nonEmptyText(config['provider']), amountOf(config['weight'])]
    if (provider === undefined || weight === undefined) continue
    const share = shares.get(provider) ?? weight
    shares.set(provider, share)
    const isSame = share === weight
    const note = 'its share of models that are named without a provider'
    if (isSame) plan.note(`${path}.weight`, 'exact', note)
    else plan.note(`${path}.weight`, 'approximate', `${note}: ${share}, as of the first key`)
  }
  return shares
}

/** Reads the rules that choose models by the name in the request; notes the others. */
function readRules (
  file: JsonObject,
  accounts: ReadonlyMap<string, readonly Account[]>,
  plan: ImportPlan
): Map<string, readonly WeightedModel[]> {
  const created = new Map<string, readonly WeightedModel[]>()
  const rules = listOf(objectOrEmpty(file['governance'])['routing_rules']).map((rule, index) => ({
    rule: objectOrEmpty(rule), path: `governance.routing_rules[${index}]`
  }))
  const placeOf = ({ rule }: { readonly rule: JsonObject }): number => amountOf(rule['priority']) ?? 0
  const inOrder = rules.toSorted((a, b) => placeOf(a) - placeOf(b))
  for (const { rule, path } of inOrder) {
    const name = namesModel.exec(nonEmptyText(rule['cel_expression']) ?? '')?.[2]
    const isSimple = (rule['scope'] ?? 'global') === 'global' && rule['chain_rule'] !== true
    if (rule['enabled'] === false) plan.note(path, 'exact', 'off')
    else if (name === undefined || !isSimple) {
      plan.note(path, 'unsupported', 'no rules in CEL: only `model == "name"` of all calls becomes a route')
    } else if (created.has(name)) plan.note(path, 'unsupported', `an earlier rule is for ${name}`)
    else {
      const targets = ruleTargets(rule, name, accounts)
      if (typeof targets === 'string') plan.note(path, 'unsupported', targets)
      else {
        created.set(name, targets)
        plan.note(path, 'approximate', `the route ${name}, for that name without a provider`)
      }
    }
  }
  return created
}

/** Returns the models of a rule, with fallbacks at weight 0; or why it has none. */
function ruleTargets (
  rule: JsonObject,
  name: string,
  accounts: ReadonlyMap<string, readonly Account[]>
): readonly WeightedModel[] | string {
  const targets: WeightedModel[] = []
  for (const entry of listOf(rule['targets']).map(objectOrEmpty)) {
    const provider = nonEmptyText(entry['provider'])
    if (provider === undefined) return 'a target names no provider'
    const pinned = nonEmptyText(entry['provider_key_name']) ?? nonEmptyText(entry['key_id'])
    const model = nonEmptyText(entry['model']) ?? name
    const account = accounts.get(provider)?.find(({ keys }) => keys.some(key => key.name === pinned))
    if (!accounts.has(provider)) return `no provider of the file is ${provider}`
    targets.push({
      model: account === undefined ? `${provider}/${model}` : modelAt(account, model),
      weight: amountOf(entry['weight']) ?? 1
    })
  }
  for (const fallback of listOf(rule['fallbacks']).map(String)) {
    const model = fallback.includes('/') ? fallback : `${fallback}/${name}`
    const provider = model.slice(0, model.indexOf('/'))
    if (!accounts.has(provider)) return `no provider of the file is ${provider}`
    if (!targets.some(target => target.model === model)) targets.push({ model, weight: 0 })
  }
  return targets.length === 0 ? 'it has no targets' : targets
}
