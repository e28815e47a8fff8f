/**
 * `headgate keys`: creates, shows, changes and revokes stored gateway keys. A running gateway notices the
 * changes.
 */

import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Key, KeyChange, NewKey } from '../../schemas/admin/keys.ts'
import { Admin } from '../accounts/admin.ts'
import { commandLineActor } from '../accounts/audit-log.ts'
import { createKey, revokeKey, rotateKey, updateKey } from '../accounts/key-actions.ts'
import { checkKeyScope, type KeyScope } from '../config/check-key-scope.ts'
import { readSettings, type CheckedConfig } from '../config/read-settings.ts'
import { endpointNames } from '../../schemas/endpoints.ts'
import { GatewayError } from '../core/errors.ts'
import type { ListedKey } from '../keys/key-rows.ts'
import { fromPartyLimits } from '../keys/party-limits.ts'
import { DuplicateKeyNameError, openKeyStore, type KeyStore } from '../keys/key-store.ts'
import type { CountedLimitName } from '../../schemas/config/counted-limits.ts'
import { parseIsoDate } from '../core/parse-iso-date.ts'
import { budgetPeriods, type Budget, type PartyLimits } from '../core/key.ts'
import { budgetsIn } from '../limits/call-accounts.ts'
import { limitFields } from '../limits/limit-table.ts'
import { isTimeZone } from '../limits/windows.ts'
import { lengthPattern, timePattern } from '../../schemas/config/keys.ts'
import { isServerPattern, mayNameUrls } from '../mcp/tool-scope.ts'
import { nearestWord } from '../text/nearest-word.ts'
import { openDatabase } from '../stores/open-database.ts'
import { databasePath } from '../stores/sqlite/database-file.ts'
import { CommandError, type ExitCode, type Terminal } from '../process/terminal.ts'
import { refuseArguments, requiredName, type Command } from './command.ts'
import { parseDate, parseExpiry } from './parse-date.ts'
import { table } from './table.ts'

/** The option of a limit: its name with hyphens. */
type OptionOf<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}-${OptionOf<Rest>}`
  : Name

function optionOf (name: CountedLimitName): OptionOf<CountedLimitName> {
  return name.replaceAll('_', '-') as OptionOf<CountedLimitName>
}

const options = {
  config: { type: 'string', short: 'c' },
  name: { type: 'string' },
  endpoints: { type: 'string', multiple: true },
  models: { type: 'string', multiple: true },
  'mcp-servers': { type: 'string', multiple: true },
  'mcp-urls': { type: 'boolean' },
  'provider-objects': { type: 'boolean' },
  stages: { type: 'string', multiple: true },
  owner: { type: 'string' },
  expires: { type: 'string' },
  overlap: { type: 'string' },
  // one option for each counted limit
  ...(Object.fromEntries(limitFields.map(({ name }) => [optionOf(name), { type: 'string' }])) as Record<
    OptionOf<CountedLimitName>,
    { readonly type: 'string' }
  >),
  budget: { type: 'string', multiple: true },
  'soft-budget': { type: 'string', multiple: true },
  unpriced: { type: 'string' },
  strict: { type: 'boolean' },
  // Names of an earlier version.
  endpoint: { type: 'string', multiple: true },
  model: { type: 'string', multiple: true },
  rpm: { type: 'string' },
  tpm: { type: 'string' },
  concurrent: { type: 'string' },
  json: { type: 'boolean', default: false }
} as const

export const keys: Command = {
  usage: `Usage: headgate keys create --name NAME [OPTIONS]
       headgate keys list [--json]
       headgate keys show ID|NAME [--json]
       headgate keys update ID|NAME [OPTIONS]
       headgate keys rotate ID|NAME [--overlap DURATION]
       headgate keys revoke ID|NAME

update changes the given fields and leaves the rest. rotate replaces the secret of a key and keeps its limits
and spending; the old secret keeps working during the overlap (24h, 7d), by default not at all. A key is
printed once, when it is created or rotated; only its digest is stored. A running gateway on the same store
accepts it within a second.

  --name NAME                name in logs and lists, of at most 100 characters
  --endpoints NAME,…         endpoints the key may call (see below); default: all
  --models ID,…              models the key may use, or patterns such as "openai/*"; default: all
  --mcp-servers SLUG,…       tool servers that calls of the key may name, or "*"; default: all
  --mcp-urls, --no-mcp-urls  allow or refuse tool servers named by URL; default: allowed if the key may
                             name all tool servers
  --provider-objects         allow files, containers and threads in the gateway's accounts at providers,
                             which all such keys share; default: not allowed
  --stages NAME,…            guards that inspect every call of the key; an empty value: none
  --expires WHEN             a date (2030-12-31), a time (2030-12-31T18:00:00Z) or a duration (30d, 12h)
${limitFields.map(({ name, row: { help } }) => `  --${optionOf(name)} N`.padEnd(29) + help).join('\n')}
  --budget USD/PERIOD        most the key may spend; may be repeated, and all budgets apply:
                             20/month                     per hour, day, week, month or in total, in UTC
                             20/month@Europe/Berlin       in a time zone
                             50/30d@2030-01-31T00:00:00Z  every 30 days, starting at this time
  --soft-budget USD/PERIOD   a budget that refuses nothing: the log and alerts say that it is used up
  --owner EMAIL              the user who owns the key, whose limits hold for it as well
  --unpriced allow|refuse    with a budget: models and fields without a known price, which count as free; default: refuse
  --strict, --no-strict      with a budget: limit answers to what is left of it, or do not; default: limit them
  -c, --config FILE
  --json

Options that take lists may be repeated. Models, tool servers and guards unknown to the configuration cause a
warning.
Without any limit option, limits.default_key_limits of the configuration applies.

Endpoints: ${endpointNames.join(', ')}`,

  run: async (args, terminal) => {
    const { values, positionals: [action = '', ...rest] } = parseArgs({
      args: [...args], allowPositionals: true, allowNegative: true, options
    })
    const prepare = actions.get(action)
    if (prepare === undefined) {
      const meant = nearestWord(action, actions.keys())
      const hint =
        meant === undefined ? 'use create, list, show, update, rotate or revoke' : `did you mean "${meant}"?`
      throw new CommandError(action === '' ? hint : `unknown action "${action}"; ${hint}`, { exitCode: 2 })
    }
    refuseArguments(rest.slice(action === 'create' || action === 'list' ? 0 : 1))
    const perform = prepare(values, rest)
    const { settings, checked } = readSettings({ ...terminal, file: values.config })
    const path = databasePath(settings.server.dataDir)
    const isNew = settings.store.url === undefined && !existsSync(path)
    const database = await openDatabase(settings)
    const store = await openKeyStore(database, settings.keys)
    try {
      return await perform({ store, admin: new Admin(database, store) }, terminal, { path, isNew, checked })
    } finally {
      store.close()
      await database.close()
    }
  }
}

const maxOverlapMs = 30 * 86_400_000
const noName = 'the id or name of a key is required'

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']
type Perform = (keys: KeyAccess, terminal: Terminal, context: Context) => Promise<ExitCode>

interface KeyAccess {
  readonly store: KeyStore
  readonly admin: Admin
}

interface Context {
  /** The file of the store. */
  readonly path: string
  /** True if the store did not exist before this command. */
  readonly isNew: boolean
  readonly checked: CheckedConfig
}

/** Checks the arguments of each action before the store is opened. */
const actions: ReadonlyMap<string, (values: Values, rest: readonly string[]) => Perform> = new Map([
  ['create', create],
  ['list', list],
  ['show', show],
  ['update', update],
  ['rotate', rotate],
  ['revoke', revoke]
])

/** What the options say of a key. */
interface Wanted {
  readonly change: Omit<KeyChange, 'limits'>
  readonly limits: PartyLimits | undefined
  readonly scope: KeyScope
}

/** @throws CommandError for options that no key can have */
function wantedOf ({
  name,
  'mcp-urls': mcpUrls,
  'provider-objects': providerObjects,
  stages: stageLists,
  expires,
  json: _json,
  owner: _owner,
  overlap: _overlap,
  ...values
}: Values): Wanted {
  const [endpoints, models, named] = [
    values.endpoints ?? values.endpoint,
    values.models ?? values.model,
    values['mcp-servers']
  ].map(splitLists)
  const mcpServers = named?.filter(slug => slug !== '') // an empty value: none
  const stages = splitLists(stageLists)?.filter(name => name !== '') // an empty value: none
  endpoints?.forEach(checkEndpoint)
  models?.forEach(checkModel)
  mcpServers?.forEach(checkSlug)
  const expiresAtMs = expires === undefined ? undefined : parseExpiry(expires)
  const change: Wanted['change'] = {
    ...name !== undefined && { name: requiredName(name) },
    ...endpoints !== undefined && { endpoints },
    ...models !== undefined && { models },
    ...mcpServers !== undefined && { mcp_servers: mcpServers },
    ...mcpUrls !== undefined && { mcp_urls: mcpUrls },
    ...providerObjects !== undefined && { provider_objects: providerObjects },
    ...stages !== undefined && { stages },
    ...expiresAtMs !== undefined && { expires_at_ms: expiresAtMs }
  }
  return { change, limits: limitsOf(values), scope: { models, mcpServers, stages } }
}

/** Returns the id of the user who is to own a key. @throws CommandError for an email that no user has */
async function ownerOf ({ accounts }: Admin, { owner }: Values): Promise<{ readonly owner_id?: string }> {
  if (owner === undefined) return {}
  const user = await accounts.users.findByEmail(owner)
  if (user === undefined) throw new CommandError(`--owner: no user has the email ${owner}`)
  return { owner_id: user.id }
}

function create (values: Values): Perform {
  const { json } = values
  const name = requiredName(values.name)
  const { change, limits, scope } = wantedOf(values)
  // its options are those of a change, without null
  const wanted = { ...change, name, ...limits !== undefined && { limits: fromPartyLimits(limits) } } as NewKey
  return async ({ admin }, { out, error: printError }, { path, isNew, checked }) => {
    const {
      key: { id },
      secret: key
    } = await createKey(
      admin, commandLineActor, { ...wanted, ...await ownerOf(admin, values) }
    ).catch((error: unknown) => {
      throw error instanceof GatewayError && error.code === 'conflict'
        ? new DuplicateKeyNameError(name)
        : error
    })
    out(json
      ? JSON.stringify({ id, name, key }, null, 2)
      : `${key}\n\nCreated "${name}" (${id}). Save the key now: it is not shown again.`)
    if (isNew) {
      printError(
        `warning: created a new store at ${path}. Only a gateway that uses this store accepts the key: ` +
          'start it in this directory, or set HEADGATE_DATA_DIR or server.data_dir to the same path.'
      )
    }
    for (const warning of scopeWarnings(scope, checked)) printError(warning)
    return 0
  }
}

/** Prints the mistakes in what a key may use, each with its option and value. */
function scopeWarnings (scope: KeyScope, checked: CheckedConfig): string[] {
  const options = new Map([
    ...valuesOf('models', '--models', scope.models),
    ...valuesOf('mcp_servers', '--mcp-servers', scope.mcpServers),
    ...valuesOf('stages', '--stages', scope.stages)
  ])
  return checkKeyScope(scope, checked).map(
    ({ path, message, suggestion }) =>
      `warning: ${options.get(path)} ${message}${suggestion === undefined ? '' : `; did you mean ${suggestion}?`}`
  )
}

function valuesOf (
  name: string,
  option: string,
  values: readonly string[] = []
): ReadonlyArray<readonly [path: string, value: string]> {
  return values.map((value, position) => [`${name}[${position}]`, `${option} ${value}`])
}

/** @throws CommandError for an unknown endpoint */
function checkEndpoint (name: string): void {
  if (endpointNames.includes(name)) return
  const meant = nearestWord(name, endpointNames)
  const hint = meant === undefined ? `endpoints are ${endpointNames.join(', ')}` : `did you mean "${meant}"?`
  throw new CommandError(`unknown endpoint "${name}"; ${hint}`, { exitCode: 2 })
}

type CountOption = OptionOf<CountedLimitName> | 'rpm' | 'tpm' | 'concurrent'
type LimitOptions = Pick<Values, CountOption | 'budget' | 'soft-budget' | 'unpriced' | 'strict'>

/** Names of an earlier version, by the present ones. */
const earlierNames: Readonly<Partial<Record<CountOption, CountOption>>> = {
  'requests-per-minute': 'rpm',
  'tokens-per-minute': 'tpm',
  'concurrent-calls': 'concurrent'
}

/** @throws CommandError for an invalid limit */
function limitsOf (
  { budget, 'soft-budget': soft, unpriced, strict, ...given }: LimitOptions
): PartyLimits | undefined {
  if (budget === undefined && unpriced !== undefined) {
    throw new CommandError('--unpriced needs a budget: give --budget as well', { exitCode: 2 })
  }
  if (budget === undefined && strict !== undefined) {
    throw new CommandError('--strict needs a budget: give --budget as well', { exitCode: 2 })
  }
  const counts = limitFields.flatMap(({ name, property, row }) => {
    const option = optionOf(name)
    const text = given[option] ?? given[earlierNames[option] ?? option]
    return text === undefined ? [] : [[property, countOf(text, `--${option}`, row.maximum)]]
  })
  const limits: PartyLimits = {
    ...Object.fromEntries(counts),
    ...(budget !== undefined || soft !== undefined) &&
      budgetsOf([
        ...(budget ?? []).map(text => ({
          ...budgetOf(text, '--budget'),
          ...unpriced !== undefined && { unpriced: unpricedOf(unpriced) }
        })),
        ...(soft ?? []).map(text => ({ ...budgetOf(text, '--soft-budget'), soft: true }))
      ]),
    ...strict !== undefined && { strict }
  }
  return Object.keys(limits).length === 0 ? undefined : limits
}

function countOf (text: string, option: string, maximum: number): number {
  if (/^[1-9]\d{0,14}$/.test(text) && Number(text) <= maximum) return Number(text)
  throw new CommandError(`${option} must be an integer from 1 to ${maximum}, not "${text}"`, { exitCode: 2 })
}

function budgetsOf (budgets: readonly Budget[]): Pick<PartyLimits, 'budget' | 'budgets'> {
  const [first, ...others] = budgets
  return first === undefined || others.length > 0 ? { budgets } : { budget: first }
}

/**
 * @throws CommandError for a text that is no amount and period, or a period in a time zone that is not known
 */
function budgetOf (text: string, option: string): Budget {
  const [, dollars, period = '', at] = /^(\d{1,6}(?:\.\d{1,9})?)\/(\w+)(?:@([\w+/:-]+))?$/.exec(text) ?? []
  const per = budgetPeriods.find(known => known === period)
  const usd = Number(dollars)
  if (usd > 0 && per !== undefined && (at === undefined || isTimeZone(at))) {
    return { usd, per, ...at !== undefined && { timeZone: at } }
  }
  if (
    usd > 0 &&
    at !== undefined &&
    new RegExp(lengthPattern).test(period) &&
    new RegExp(timePattern).test(at) &&
    !Number.isNaN(parseIsoDate(at))
  ) {
    return { usd, every: period, from: at }
  }
  throw new CommandError(
    `${option} must be dollars and a period, such as 20/month, 3/week@Europe/Berlin, 100/total or 50/30d@2030-01-31T00:00:00Z, not "${text}"`,
    { exitCode: 2 }
  )
}

function unpricedOf (text: string): NonNullable<Budget['unpriced']> {
  if (text === 'allow' || text === 'refuse') return text
  throw new CommandError(`--unpriced must be allow or refuse, not "${text}"`, { exitCode: 2 })
}

/** @throws CommandError for a pattern that would match nothing */
function checkModel (pattern: string): void {
  if (/^(?:\*|[^*\s]+\/\*|[^*\s]+)$/.test(pattern)) return
  throw new CommandError(
    `--models must be model ids, "*" or patterns such as "openai/*", not "${pattern}"`,
    { exitCode: 2 }
  )
}

/** @throws CommandError for what cannot be the slug of a tool server */
function checkSlug (slug: string): void {
  if (isServerPattern(slug)) return
  throw new CommandError(`--mcp-servers must be slugs such as "org/name", or "*", not "${slug}"`, {
    exitCode: 2
  })
}

/** Splits each value of an option at its commas; `undefined` for an option that was not given. */
function splitLists (values: readonly string[] | undefined): string[] | undefined {
  return values?.flatMap(value => value.split(',').map(item => item.trim()))
}

function update (values: Values, [idOrName]: readonly string[]): Perform {
  const { change, limits, scope } = wantedOf(values)
  return async ({ store, admin }, { out, error: printError }, { checked }) => {
    const before = await admin.keys.require(await activeId({ store, admin }, idOrName))
    const { name } = await updateKey(
      admin,
      commandLineActor,
      before,
      {
        ...change,
        ...await ownerOf(admin, values),
        ...limits !== undefined && { limits: changedLimits(before, limits) }
      },
      true
    )
    out(`Changed "${name}" (${before.id}).`)
    for (const warning of scopeWarnings(scope, checked)) printError(warning)
    return 0
  }
}

/** Returns the limits of a key with those that are given: a budget takes the place of all budgets. */
function changedLimits ({ limits }: Key, given: PartyLimits): NonNullable<KeyChange['limits']> {
  const { budget, budgets, ...counts } = limits ?? {}
  const changed = fromPartyLimits(given)
  const keepsBudgets = changed.budget === undefined && changed.budgets === undefined
  return {
    ...counts,
    ...keepsBudgets && {
      ...budget !== undefined && { budget },
      ...budgets !== undefined && { budgets }
    },
    ...changed
  }
}

function rotate ({ overlap = '0h', json }: Values, [idOrName]: readonly string[]): Perform {
  const overlapMs = parseDate(overlap, 0, 'ahead')
  if (!/^\d+[dh]$/.test(overlap) || !(overlapMs <= maxOverlapMs)) {
    throw new CommandError(`--overlap must be a duration of at most 30d, such as 24h, not "${overlap}"`, {
      exitCode: 2
    })
  }
  return async ({ store, admin }, { out }) => {
    const before = await admin.keys.require(await activeId({ store, admin }, idOrName))
    const {
      key: { id, name },
      secret: key
    } = await rotateKey(admin, commandLineActor, before, overlapMs)
    out(
      json
        ? JSON.stringify({ id, name, key }, null, 2)
        : `${key}\n\nRotated "${name}" (${id}). Save the key now: it is not shown again.`
    )
    return 0
  }
}

function show ({ json }: Values, [idOrName]: readonly string[]): Perform {
  return async ({ store, admin }, { out }) => {
    const listed = (await store.list()).filter(({ id, name }) => id === idOrName || name === idOrName)
    const key = listed.find(({ id, status }) => id === idOrName || status === 'active') ?? listed.at(-1)
    if (key === undefined) {
      throw new CommandError(idOrName === undefined ? noName : `no key has the id or name "${idOrName}"`, {
        exitCode: idOrName === undefined ? 2 : 1
      })
    }
    const described = await admin.keys.require(key.id)
    const values = row(key, described.spent_usd)
    if (json) out(JSON.stringify(described, null, 2))
    else out(table(headings.map((heading, index) => [heading, values[index] ?? ''])))
    return 0
  }
}

/** @throws CommandError for what is no key of the store that works */
async function activeId ({ store, admin }: KeyAccess, idOrName: string | undefined): Promise<string> {
  if (idOrName === undefined) throw new CommandError(noName, { exitCode: 2 })
  const active = await admin.keys.findActive(idOrName)
  if (active !== undefined) return active
  const configured = (await store.list()).some(
    ({ source, id, name }) => source === 'configuration' && (id === idOrName || name === idOrName)
  )
  throw new CommandError(
    configured
      ? `"${idOrName}" is defined in the configuration; change it there`
      : `no active key has the id or name "${idOrName}"`
  )
}

function list ({ json }: Values): Perform {
  return async ({ store, admin }, { out }) => {
    const listed = await store.list()
    const spent = await Promise.all(listed.map(async ({ id }) => (await admin.keys.require(id)).spent_usd))
    const shown = listed.map(({ guards: stages, ...key }, at) => ({ ...key, stages, spentUsd: spent[at] }))
    if (json) out(JSON.stringify(shown, null, 2))
    else if (listed.length === 0) out('No keys.')
    else out(table([headings, ...listed.map((key, index) => row(key, spent[index] ?? 0))]))
    return 0
  }
}

function revoke (_values: Values, [idOrName]: readonly string[]): Perform {
  return async ({ store, admin }, { out }) => {
    const { name, id } = await revokeKey(admin, commandLineActor, await activeId({ store, admin }, idOrName))
    out(`Revoked "${name}" (${id}).`)
    return 0
  }
}

const headings = [
  'ID',
  'NAME',
  'STATUS',
  'EXPIRES',
  'SPENT',
  'LIMITS',
  'ENDPOINTS',
  'MODELS',
  'MCP SERVERS',
  'MCP URLS',
  'PROVIDER OBJECTS'
]

/** @param spentUsd in the current period of its first budget; without one, this month */
function row (key: ListedKey, spentUsd: number): string[] {
  const {
    id,
    name,
    status,
    expiresAtMs,
    limits,
    endpoints,
    models,
    mcpServers,
    providerObjects = false
  } = key
  const expires = expiresAtMs === undefined ? 'never' : new Date(expiresAtMs).toISOString().slice(0, 16)
  const rights = [mayNameUrls(key), providerObjects].map(may => (may ? 'yes' : 'no'))
  return [
    id,
    name,
    status,
    expires,
    `$${spentUsd.toFixed(4)}`,
    limitsText(limits),
    scope(endpoints),
    scope(models),
    scope(mcpServers),
    ...rights
  ]
}

function atOf (at: string | undefined): string {
  return at === undefined ? '' : `@${at}`
}

function limitsText (limits: PartyLimits = {}): string {
  const { strict } = limits
  const [{ unpriced } = {}] = budgetsIn(limits)
  return (
    [
      ...limitFields.map(({ name, property }) =>
        limits[property] === undefined ? [] : `${name}=${limits[property]}`
      ),
      ...budgetsIn(limits).map(
        ({ usd, per = 'month', every, from, timeZone, soft }) =>
          `${soft === true ? 'soft_' : ''}budget=${usd}/${every ?? per}${atOf(from ?? timeZone)}`
      ),
      unpriced === undefined ? [] : `unpriced=${unpriced}`,
      strict === undefined ? [] : `strict=${strict}`
    ]
      .flat()
      .join(',') || 'default'
  )
}

function scope (names: readonly string[] | undefined): string {
  return names === undefined ? 'all' : names.join(',') || 'none'
}
