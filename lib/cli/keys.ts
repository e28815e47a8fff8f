/** `headgate keys`: gateway keys of the store, also while a gateway runs, which notices them. */

import { parseArgs } from 'node:util'
import { loadSettings } from '../config.ts'
import { isoMoment } from '../config/iso-moment.ts'
import { endpointNames } from '../endpoint.ts'
import { openKeyStore, type KeyStore, type ListedKey } from '../keys/key-store.ts'
import { nearest } from '../nearest.ts'
import { openDatabase } from '../stores/database.ts'
import { CommandError, type Command, type ExitCode, type Terminal } from './command.ts'
import { table } from './table.ts'

const options = {
  config: { type: 'string', short: 'c' },
  name: { type: 'string' },
  endpoint: { type: 'string', multiple: true },
  model: { type: 'string', multiple: true },
  expires: { type: 'string' },
  json: { type: 'boolean', default: false }
} as const

export const keys: Command = {
  usage: `Usage: headgate keys create --name NAME [--endpoint NAME]... [--model ID]... [--expires WHEN]
       headgate keys list
       headgate keys revoke ID|NAME

A key is printed once, when it is made; only its digest is kept. A running gateway takes notice
within a second or two.

  --name NAME      how logs and lists call it
  --endpoint NAME  an endpoint it may call, one of those below; default: all
  --model ID       a model it may use, or a pattern such as "openai/*"; default: all
  --expires WHEN   a day (2030-12-31), a moment (2030-12-31T18:00:00Z) or a time from now (30d, 12h)
  -c, --config FILE
  --json

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

function create ({ name, endpoint: endpoints, model: models, expires, json }: Values): Perform {
  if (name === undefined || name.trim() === '') {
    throw new CommandError('a key needs a name: --name NAME', { exitCode: 2 })
  }
  for (const endpoint of endpoints ?? []) checkEndpoint(endpoint)
  for (const model of models ?? []) checkModel(model)
  const expiresAtMs = expires === undefined ? undefined : momentOf(expires, Date.now())
  return async (store, { out }) => {
    const { id, key } = await store.create({ name, endpoints, models, expiresAtMs })
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
    else out(table([['ID', 'NAME', 'STATUS', 'EXPIRES', 'ENDPOINTS', 'MODELS'], ...found.map(row)]))
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

function row ({ id, name, status, expiresAtMs, endpoints, models }: ListedKey): string[] {
  const expires = expiresAtMs === undefined ? 'never' : new Date(expiresAtMs).toISOString().slice(0, 16)
  return [id, name, status, expires, scope(endpoints), scope(models)]
}

function scope (names: readonly string[] | undefined): string {
  return names === undefined ? 'all' : names.join(',') || 'none'
}

/**
 * `30d` and `12h` count from now; anything else is a date of ISO 8601.
 *
 * @throws CommandError for anything else, and for moments that have passed
 */
function momentOf (text: string, nowMs: number): number {
  const [, count, unit] = /^(\d{1,6})([dh])$/.exec(text) ?? []
  const hourMs = 3_600_000
  const moment = count === undefined
    ? writtenMoment(text)
    : nowMs + Number(count) * (unit === 'd' ? 24 * hourMs : hourMs)
  if (Number.isNaN(moment)) {
    throw new CommandError(`--expires "${text}" is neither a date (2030-12-31) nor a time from now (30d, 12h)`, { exitCode: 2 })
  }
  if (moment <= nowMs) throw new CommandError(`--expires "${text}" has passed already`, { exitCode: 2 })
  return moment
}

function writtenMoment (text: string): number {
  return /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? isoMoment(text) : NaN
}
