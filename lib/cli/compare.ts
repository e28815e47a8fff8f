/** `headgate compare`: compares cost, tokens, errors and times of two periods, routes or gateways. */

import { parseArgs } from 'node:util'
import { AdminApiError, AdminClient } from '../apply/admin-client.ts'
import { loadSettings } from '../config/read-settings.ts'
import { isList, property } from '../json/type-guards.ts'
import { isLoopback } from '../net/loopback.ts'
import { openDatabase } from '../stores/open-database.ts'
import { dayMs } from '../core/day.ts'
import { usageReport } from '../usage/usage-report.ts'
import { CommandError, type Terminal } from '../process/terminal.ts'
import { joinItems } from '../../schemas/admin/item-list.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import type { Usage, UsageTotals } from '../../schemas/admin/usage.ts'
import type { Settings } from '../core/settings.ts'
import type { Command } from './command.ts'
import { momentOf } from './parse-date.ts'
import { percent, table } from './table.ts'

const keyName = 'HEADGATE_ADMIN_KEY'
const filters = ['model', 'provider', 'endpoint', 'key', 'project'] as const
const words = ['from', 'until', 'url', ...filters] as const

export const compare: Command = {
  usage: `Usage: headgate compare --a SIDE --b SIDE [-c FILE] [--json]

Compares the recorded calls of two sides by model: calls, errors, tokens, cost, time to the first output of
streams, and total time. A side is a comma-separated list of:

  from=WHEN, until=WHEN      a date, a time or a duration (7d, 12h); default: the last 7 days
  model=NAME                 a model, or a route of the configuration, which stands for its models
  provider=, endpoint=, key=, project=
  url=URL                    another gateway, by its admin API; its key is read from ${keyName}_A or
                             ${keyName}_B, else ${keyName}

A filter given twice matches either value. Sides without url are read from the store. Examples:

  headgate compare --a from=14d,until=7d --b from=7d                 two weeks
  headgate compare --a model=assistant,endpoint=chat --b endpoint=mirror   a route and its mirror
  headgate compare --a url=https://old.example --b url=https://new.example

  -c, --config FILE
  --json             print {"a", "b"}: totals, and groups by model`,

  run: async (args, terminal) => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        a: { type: 'string' },
        b: { type: 'string' },
        config: { type: 'string', short: 'c' },
        json: { type: 'boolean', default: false }
      }
    })
    const sides = [sideOf('a', values.a), sideOf('b', values.b)] as const
    const settings = sides.every(({ url }) => url !== undefined)
      ? undefined
      : loadSettings({ ...terminal, file: values.config })
    const [a, b] = await Promise.all(sides.map(async side => await sideUsage(side, settings, terminal)))
    if (a === undefined || b === undefined) throw new TypeError('there are two sides')
    if (values.json) {
      const parts = ({ totals, groups }: Usage) => ({
        totals, groups: groups.map(group => ({ id: group.id, name: group.name, totals: group.totals }))
      })
      terminal.out(JSON.stringify({ a: parts(a), b: parts(b) }, null, 2))
    } else terminal.out(asTable(a, b))
    return 0
  }
}

type Filter = typeof filters[number]

interface Side {
  readonly name: 'a' | 'b'
  readonly fromMs: number
  readonly untilMs: number
  readonly url?: string
  readonly filters: ReadonlyMap<Filter, readonly string[]>
}

/** @throws CommandError naming the option and what to write */
function sideOf (name: 'a' | 'b', text: string | undefined): Side {
  if (text === undefined) throw new CommandError(`--${name} SIDE is missing.`, { exitCode: 2 })
  const found = new Map<string, string[]>()
  for (const pair of text.split(',').filter(part => part.trim() !== '')) {
    const at = pair.indexOf('=')
    const word = pair.slice(0, Math.max(at, 0)).trim()
    const value = pair.slice(at + 1).trim()
    if (!words.some(known => known === word) || value === '') {
      const known = words.map(each => `${each}=…`).join(', ')
      throw new CommandError(`--${name}: "${pair}" must be one of ${known}.`, { exitCode: 2 })
    }
    found.set(word, [...found.get(word) ?? [], value])
  }
  const one = (word: typeof words[number]): string | undefined => found.get(word)?.at(-1)
  const moment = (word: 'from' | 'until', ms: number): number => {
    const value = one(word)
    return value === undefined ? ms : momentOf(`--${name}: ${word}`, value)
  }
  const untilMs = moment('until', Date.now())
  const fromMs = moment('from', untilMs - 7 * dayMs)
  if (fromMs >= untilMs) throw new CommandError(`--${name}: from must be before until.`, { exitCode: 2 })
  const url = one('url')
  if (url !== undefined && (!/^https?:\/\//.test(url) || !URL.canParse(url))) {
    throw new CommandError(`--${name}: url must start with http:// or https://.`, { exitCode: 2 })
  }
  return {
    name,
    fromMs,
    untilMs,
    ...url !== undefined && { url: withoutTrailingSlashes(url).replace(/\/v1$/, '') },
    filters: new Map(filters.flatMap(filter => {
      const values = found.get(filter)
      return values === undefined ? [] : [[filter, values] as const]
    }))
  }
}

async function sideUsage (side: Side, settings: Settings | undefined, terminal: Terminal): Promise<Usage> {
  if (side.url !== undefined) return await remoteUsage(side, side.url, terminal)
  if (settings === undefined) throw new TypeError('a side without url is of the configuration')
  return await storedUsage(side, settings)
}

async function storedUsage (
  { fromMs, untilMs, filters: given }: Side, settings: Settings
): Promise<Usage> {
  const models = given.get('model')?.flatMap(name => modelsOf(name, settings))
  const database = await openDatabase(settings)
  try {
    return await usageReport(database.query, {
      period: { fromMs, untilMs },
      origin: {
        models,
        providers: given.get('provider'),
        endpoints: given.get('endpoint'),
        keys: given.get('key'),
        projects: given.get('project')
      },
      bucket: untilMs - fromMs > 7 * dayMs ? 'day' : 'hour',
      groupBy: 'model'
    })
  } finally {
    await database.close()
  }
}

/** Returns the models behind a route, including those of nested routes; otherwise the name itself. */
function modelsOf (name: string, { routes }: Settings, seen = new Set<string>()): string[] {
  const route = routes.find(each => each.name === name)
  if (route === undefined) return [name]
  if (seen.has(name)) return []
  seen.add(name)
  return route.models.flatMap(model => modelsOf(model, { routes } as Settings, seen))
}

/** @throws CommandError for a gateway that refuses, does not answer, or gives an unexpected answer */
async function remoteUsage (
  { name, fromMs, untilMs, filters: given }: Side, url: string, { env, error: warn }: Terminal
): Promise<Usage> {
  const own = `${keyName}_${name.toUpperCase()}`
  const key = env[own] ?? env[keyName] ?? ''
  if (key === '') throw new CommandError(`Neither ${own} nor ${keyName} is set.`)
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:' && !isLoopback(hostname)) {
    warn(`warning: the key of the admin API travels in cleartext to ${hostname}.`)
  }
  const query = new URLSearchParams({ from_ms: String(fromMs), until_ms: String(untilMs), group_by: 'model' })
  for (const [filter, values] of given) query.set(filter, joinItems(values))
  let usage: Usage
  try {
    usage = await new AdminClient(url, key).read<Usage>('GET /admin/v1/usage', query)
  } catch (error) {
    if (error instanceof AdminApiError) throw new CommandError(error.message, { cause: error })
    throw error
  }
  if (isUsage(usage)) return usage
  throw new CommandError(`--${name}: ${url} does not answer with the usage that this version compares.`)
}

const shownNumbers = [
  'calls', 'errors', 'cancelled', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'cost_usd',
  'estimated_calls', 'unpriced_calls'
] as const satisfies ReadonlyArray<keyof UsageTotals>

/** Returns true for an answer with the content of the table: another gateway may answer anything. */
function isUsage (answer: unknown): boolean {
  const groups = property(answer, 'groups')
  return (
    hasTotals(answer) &&
    isList(groups) &&
    groups.every(group => typeof property(group, 'name') === 'string' && hasTotals(group))
  )
}

function hasTotals (part: unknown): boolean {
  const totals = property(part, 'totals')
  const isShown = (times: unknown): boolean =>
    times === null || ['p50', 'p95'].every(name => typeof property(times, name) === 'number')
  return (
    shownNumbers.every(name => typeof property(totals, name) === 'number') &&
    isShown(property(totals, 'latency_ms')) &&
    isShown(property(totals, 'first_byte_ms'))
  )
}

const headings = [
  'MODEL', 'SIDE', 'CALLS', 'ERRORS', 'CANCELLED', 'PROMPT', 'COMPLETION', 'CACHED', 'COST', 'PER CALL',
  'FIRST p50', 'p95', 'TOTAL p50', 'p95'
]

function asTable (a: Usage, b: Usage): string {
  const names = [...new Set([...a.groups, ...b.groups].map(({ name }) => name))]
  const rows = names.flatMap(name => [['a', a] as const, ['b', b] as const].flatMap(([side, { groups }]) => {
    const group = groups.find(each => each.name === name)
    return group === undefined ? [] : [[name, side, ...cellsOf(group.totals)]]
  }))
  return table([headings, ...rows, ['all', 'a', ...cellsOf(a.totals)], ['all', 'b', ...cellsOf(b.totals)]])
}

function cellsOf (totals: UsageTotals): string[] {
  const { calls, errors, cancelled, prompt_tokens, completion_tokens, cached_tokens, cost_usd } = totals
  const { estimated_calls, unpriced_calls, latency_ms, first_byte_ms } = totals
  const exactness = estimated_calls > 0 ? '~' : ''
  const more = unpriced_calls > 0 ? '+' : ''
  const ms = (value: number | undefined): string => value === undefined ? '-' : `${Math.round(value)} ms`
  return [
    String(calls),
    percent(errors, calls),
    percent(cancelled, calls),
    String(prompt_tokens),
    String(completion_tokens),
    percent(cached_tokens, prompt_tokens),
    `${exactness}$${cost_usd.toFixed(4)}${more}`,
    calls === 0 ? '-' : `${exactness}$${(cost_usd / calls).toFixed(6)}${more}`,
    ms(first_byte_ms?.p50),
    ms(first_byte_ms?.p95),
    ms(latency_ms?.p50),
    ms(latency_ms?.p95)
  ]
}
