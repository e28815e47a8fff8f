/** `headgate keys`: gateway keys of the store, also while a gateway runs, which notices them. */

import { parseArgs } from 'node:util'
import { loadSettings } from '../config/read-settings.ts'
import { endpointNames } from '../core/endpoint.ts'
import { openKeyStore, type KeyStore, type ListedKey } from '../keys/key-store.ts'
import { budgetPeriods, type Budget, type KeyLimits } from '../core/key.ts'
import { nearest } from '../text/nearest.ts'
import { openDatabase } from '../stores/database.ts'
import { CommandError, type ExitCode, type Terminal } from '../process/terminal.ts'
import type { Command } from './command.ts'
import { parseDate } from './parse-date.ts'
import { table } from './table.ts'

const options = {
  config: { type: 'string', short: 'c' },
  name: { type: 'string' },
  endpoint: { type: 'string', multiple: true },
  model: { type: 'string', multiple: true },
  expires: { type: 'string' },
  rpm: { type: 'string' },
  tpm: { type: 'string' },
  concurrent: { type: 'string' },
  budget: { type: 'string' },
  json: { type: 'boolean', default: false }
} as const

export const keys: Command = {
  usage: `Usage: headgate keys create --name NAME [--endpoint NAME]... [--model ID]... [--expires WHEN]
                            [--rpm N] [--tpm N] [--concurrent N] [--budget USD/day|month|total]
       headgate keys list
       headgate keys revoke ID|NAME

A key is printed once, when it is made; only its digest is kept. A running gateway takes notice
within a second or two.

  --name NAME      how logs and lists call it
  --endpoint NAME  an endpoint it may call, one of those below; default: all
  --model ID       a model it may use, or a pattern such as "openai/*"; default: all
  --expires WHEN   a day (2030-12-31), a moment (2030-12-31T18:00:00Z) or a time from now (30d, 12h)
  --rpm N          requests a minute that ask a provider
  --tpm N          tokens a minute, prompt and answer together
  --concurrent N   calls under way at once
  --budget USD/day|month|total
                   what it may cost (20/month), in days and months of UTC
  -c, --config FILE
  --json

Without any of the last four the limits of the configuration hold (limits.default_key).

Endpoints: ${endpointNames.join(', ')}`,

  run: async (args, terminal) => {
    const { values, positionals: [action = '', ...rest] } = parseArgs({
      args: [...args], allowPositionals: true, options
    })
    const act = actions.get(action)
    if (act === undefined) {
      const meant = nearest(action, actions.keys())
      const hint = meant === undefined ? 'say create, list or revoke' : `did you mean "${meant}"?`
      throw new CommandError(action === '' ? hint : `"${action}" is not known: ${hint}`, { exitCode: 2 })
    }
    const perform = act(values, rest)
    const { server, keys: configured } = loadSettings({ ...terminal, file: values.config })
    const database = await openDatabase(server.dataDir)
    const store = await openKeyStore(database, configured)
    try {
      return await perform(store, terminal)
    } finally {
      store.close()
      await database.close()
    }
  }
}

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']
type Perform = (store: KeyStore, terminal: Terminal) => Promise<ExitCode>

/** Each checks what was asked before the store is opened. */
const actions: ReadonlyMap<string, (values: Values, rest: readonly string[]) => Perform> = new Map([
  ['create', create], ['list', list], ['revoke', revoke]
])

function create ({ name, endpoint: endpoints, model: models, expires, json, ...wishes }: Values): Perform {
  if (name === undefined || name.trim() === '') {
    throw new CommandError('a key needs a name: --name NAME', { exitCode: 2 })
  }
  for (const endpoint of endpoints ?? []) checkEndpoint(endpoint)
  for (const model of models ?? []) checkModel(model)
  const expiresAtMs = expires === undefined ? undefined : expiryOf(expires)
  const limits = limitsOf(wishes)
  return async (store, { out }) => {
    const { id, key } = await store.create({ name, endpoints, models, expiresAtMs, limits })
    out(json
      ? JSON.stringify({ id, name, key }, null, 2)
      : `${key}\n\nThis is "${name}" (${id}). Keep it now: it is not shown again.`)
    return 0
  }
}

/** @throws CommandError for an endpoint there is not */
function checkEndpoint (name: string): void {
  if (endpointNames.includes(name)) return
  const meant = nearest(name, endpointNames)
  const hint = meant === undefined ? `there is ${endpointNames.join(', ')}` : `did you mean "${meant}"?`
  throw new CommandError(`--endpoint "${name}" is not known: ${hint}`, { exitCode: 2 })
}

/** @throws CommandError for what is no limit */
function limitsOf ({ rpm, tpm, concurrent, budget }: Pick<Values, 'rpm' | 'tpm' | 'concurrent' | 'budget'>): KeyLimits | undefined {
  const limits: KeyLimits = {
    ...rpm !== undefined && { requestsPerMinute: countOf(rpm, '--rpm') },
    ...tpm !== undefined && { tokensPerMinute: countOf(tpm, '--tpm') },
    ...concurrent !== undefined && { concurrentCalls: countOf(concurrent, '--concurrent') },
    ...budget !== undefined && { budget: budgetOf(budget) }
  }
  return Object.keys(limits).length === 0 ? undefined : limits
}

function countOf (text: string, option: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new CommandError(`${option} "${text}" is not a whole number above 0`, { exitCode: 2 })
}

function budgetOf (text: string): Budget {
  const [, dollars, period] = /^(\d{1,6}(?:\.\d{1,9})?)\/(\w+)$/.exec(text) ?? []
  const per = budgetPeriods.find(known => known === period)
  const usd = Number(dollars)
  if (per !== undefined && usd > 0) return { usd, per }
  throw new CommandError(`--budget "${text}" is not dollars and a period, such as 20/month, 0.5/day or 100/total`, { exitCode: 2 })
}

/** @throws CommandError for a pattern that would match nothing */
function checkModel (pattern: string): void {
  if (/^(?:\*|[^*\s]+\/\*|[^*\s]+)$/.test(pattern)) return
  throw new CommandError(`--model "${pattern}" fits no model: only "*" and "provider/*" are patterns`, { exitCode: 2 })
}

function list ({ json }: Values): Perform {
  return async (store, { out }) => {
    const found = await store.list()
    if (json) out(JSON.stringify(found, null, 2))
    else if (found.length === 0) out('There are no keys.')
    else out(table([['ID', 'NAME', 'STATUS', 'EXPIRES', 'LIMITS', 'ENDPOINTS', 'MODELS'], ...found.map(row)]))
    return 0
  }
}

function revoke (_values: Values, [idOrName]: readonly string[]): Perform {
  if (idOrName === undefined) throw new CommandError('which key? Give its id or name.', { exitCode: 2 })
  return async (store, { out }) => {
    const key = await store.revoke(idOrName)
    if (key === undefined) {
      const configured = (await store.list()).some(({ source, id, name }) =>
        source === 'configuration' && (id === idOrName || name === idOrName))
      throw new CommandError(configured
        ? `"${idOrName}" comes from the configuration; take it out there.`
        : `no key in use has the id or name "${idOrName}".`)
    }
    out(`"${key.name}" (${key.id}) is revoked.`)
    return 0
  }
}

function row ({ id, name, status, expiresAtMs, limits, endpoints, models }: ListedKey): string[] {
  const expires = expiresAtMs === undefined ? 'never' : new Date(expiresAtMs).toISOString().slice(0, 16)
  return [id, name, status, expires, limitsText(limits), scope(endpoints), scope(models)]
}

function limitsText ({ requestsPerMinute, tokensPerMinute, concurrentCalls, budget }: KeyLimits = {}): string {
  return [
    requestsPerMinute === undefined ? [] : `rpm=${requestsPerMinute}`,
    tokensPerMinute === undefined ? [] : `tpm=${tokensPerMinute}`,
    concurrentCalls === undefined ? [] : `concurrent=${concurrentCalls}`,
    budget === undefined ? [] : `budget=${budget.usd}/${budget.per}`
  ].flat().join(',') || 'default'
}

function scope (names: readonly string[] | undefined): string {
  return names === undefined ? 'all' : names.join(',') || 'none'
}

/** @throws CommandError for what is no moment, and for moments that have passed */
function expiryOf (text: string): number {
  const nowMs = Date.now()
  const moment = parseDate(text, nowMs, 'ahead')
  if (Number.isNaN(moment)) {
    throw new CommandError(`--expires "${text}" is neither a date (2030-12-31) nor a time from now (30d, 12h)`, { exitCode: 2 })
  }
  if (moment <= nowMs) throw new CommandError(`--expires "${text}" has passed already`, { exitCode: 2 })
  return moment
}
