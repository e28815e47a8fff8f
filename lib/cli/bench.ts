/** `headgate bench`: puts two gateways under the same load, with a provider that this command simulates. */

import { parseArgs } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  compareGateways, durationOf, modelNames, whyNotReady, type CompareOptions, type Gateway, type Row
} from '../load/compare-gateways.ts'
import { budgetLane, httpLanes } from '../load/http-lanes.ts'
import { costOfMetrics, costOfProcess, type ReadCost } from '../load/process-cost.ts'
import {
  simulatedModels, simulatedPrice, startSimulatedProvider, type SimulatedProvider
} from '../load/simulated-provider.ts'
import type { JsonObject } from '../json/type-guards.ts'
import { printDocument } from '../config/print-document.ts'
import { CommandError, type Terminal } from '../process/terminal.ts'
import { describeError } from '../text/describe-error.ts'
import { otherUpstreamApi } from '../providers/kinds.ts'
import { benchNotes, benchTable, limitsOfComparison } from './bench-report.ts'
import type { Command } from './command.ts'

const defaults = {
  listen: '127.0.0.1:8790', rates: '50,200', seconds: '3', budget: '0.05', wait: '60', provider: 'bench'
}

/** Bounds of one run. */
const most = { rate: 5_000, rates: 8, seconds: 60, calls: 500_000, waitSeconds: 600, budgetUsd: 1_000 }

const text = { type: 'string' } as const

const options = {
  'key-a': text,
  'key-b': text,
  'budget-key-a': text,
  'budget-key-b': text,
  'pid-a': text,
  'pid-b': text,
  'metrics-a': text,
  'metrics-b': text,
  'provider-a': text,
  'provider-b': text,
  listen: { type: 'string', default: defaults.listen },
  address: text,
  rates: { type: 'string', default: defaults.rates },
  seconds: { type: 'string', default: defaults.seconds },
  budget: { type: 'string', default: defaults.budget },
  lanes: text,
  wait: { type: 'string', default: defaults.wait },
  json: { type: 'boolean', default: false }
} as const

type Values = ReturnType<typeof parse>['values']

function parse (args: readonly string[]) {
  return parseArgs({ args: [...args], allowPositionals: true, options })
}

export const bench: Command = {
  usage: `Usage: headgate bench URL_A URL_B [OPTIONS]

Puts two gateways under the same load, one after the other, and prints one table: calls a second, time added
at p50 and p99, how far the costs they report are from what the provider charged, and by how much
${budgetLane.calls} calls at once overrun a budget. The provider is simulated by this command: it first prints
the entry that both gateways need, and waits until both have it. Calls are sent at fixed rates, whether or not the
gateway keeps up. Only the two gateways are contacted.

  --key-a, --key-b KEY              keys of the gateways, or env:NAME
  --budget-key-a, --budget-key-b    keys whose budget is that of --budget, none of it used: for OVERSHOOT
  --budget USD                      default: ${defaults.budget}
  --pid-a, --pid-b ID               process of the gateway, on this machine: CPU and memory per call
  --metrics-a, --metrics-b URL      the same from process_cpu_seconds_total, process_resident_memory_bytes
  --provider-a, --provider-b NAME   first part of the models' names (default: ${defaults.provider})
  --listen HOST:PORT                where the simulated provider listens (default: ${defaults.listen})
  --address URL                     where the gateways reach it (default: http://${defaults.listen})
  --rates LIST                      calls a second (default: ${defaults.rates}); at most ${most.rate}
  --seconds N                       of each lane and rate (default: ${defaults.seconds})
  --lanes TEXT                      only lanes whose name contains TEXT (default: all)
  --wait SECONDS                    for the gateways to have the provider (default: ${defaults.wait})
  --json                            print {"provider", "rows", "notes", "limits"}

Exits with 1 when calls failed in a lane without a budget.`,

  run: async (args, terminal) => {
    const { values, positionals: [urlA, urlB, ...others] } = parse(args)
    if (urlA === undefined || urlB === undefined || others.length > 0) {
      throw new CommandError('name two gateways by their addresses.', { exitCode: 2 })
    }
    const gateways = [gatewayOf('A', urlA, values, terminal), gatewayOf('B', urlB, values, terminal)]
    const compare = compareOptions(values)
    const listen = listenOf(values.listen)
    const provider = await startSimulatedProvider(listen).catch((error: unknown) => {
      const reason = describeError(error)
      throw new CommandError(`the simulated provider cannot listen: ${reason}.`, { cause: error })
    })
    const url = new URL(`http://${listen.host}:${provider.port}`)
    const address = values.address ?? url.origin
    try {
      const say = values.json ? terminal.error : terminal.out
      say(entryText(address, compare.budgetUsd, gateways))
      const waitMs = 1_000 * bounded(values.wait, '--wait', 0, most.waitSeconds)
      for (const gateway of gateways) await waitFor(gateway, provider, waitMs, say)
      say(`\nThis takes about ${Math.ceil(durationOf(compare, gateways.length))} seconds.\n`)
      const direct = { name: 'direct', url, key: undefined, provider: defaults.provider }
      const rows: Row[] = []
      for await (const row of compareGateways(direct, gateways, provider, compare)) rows.push(row)
      const notes = benchNotes(rows, gateways)
      if (values.json) {
        const report = { provider: entryOf(address, gateways), rows, notes, limits: limitsOfComparison }
        terminal.out(JSON.stringify(report, null, 2))
      } else {
        terminal.out(benchTable(rows))
        for (const note of [...notes, ...limitsOfComparison]) terminal.out(`- ${note}`)
      }
      return rows.some(({ rate, answered, due }) => rate !== undefined && answered < due) ? 1 : 0
    } finally {
      await provider.close()
    }
  }
}

function gatewayOf (name: 'A' | 'B', given: string, values: Values, { env }: Terminal): Gateway {
  const side = name === 'A' ? 'a' : 'b'
  const url = urlOf(given, `URL_${name}`)
  const budgetKey = secretOf(values[`budget-key-${side}`], `--budget-key-${side}`, env)
  const readCost = costReader(values[`pid-${side}`], values[`metrics-${side}`], side)
  return {
    name,
    url,
    key: secretOf(values[`key-${side}`], `--key-${side}`, env),
    provider: values[`provider-${side}`] ?? defaults.provider,
    ...budgetKey !== undefined && { budgetKey },
    ...readCost !== undefined && { readCost }
  }
}

function urlOf (given: string, what: string): URL {
  if (/^https?:\/\//.test(given) && URL.canParse(given)) return new URL(given)
  const example = 'http://127.0.0.1:8080'
  throw new CommandError(`${what} must be an address such as ${example}, not "${given}".`, { exitCode: 2 })
}

function secretOf (given: string | undefined, option: string, env: Terminal['env']): string | undefined {
  const [, name] = /^env:(\w+)$/.exec(given ?? '') ?? []
  if (name === undefined) return given
  const value = env[name]
  if (value !== undefined && value !== '') return value
  throw new CommandError(`${option}: the variable ${name} is not set.`, { exitCode: 2 })
}

function costReader (
  pid: string | undefined, metrics: string | undefined, side: 'a' | 'b'
): ReadCost | undefined {
  if (pid !== undefined && metrics !== undefined) {
    throw new CommandError(`give --pid-${side} or --metrics-${side}, not both.`, { exitCode: 2 })
  }
  if (metrics !== undefined) return costOfMetrics(urlOf(metrics, `--metrics-${side}`))
  if (pid === undefined) return undefined
  const id = bounded(pid, `--pid-${side}`, 1, 2 ** 31)
  try {
    return costOfProcess(id)
  } catch (error) {
    throw new CommandError(`--pid-${side}: ${describeError(error)}.`, { cause: error })
  }
}

function compareOptions (values: Values): CompareOptions {
  const rates = values.rates.split(',').map(rate => bounded(rate.trim(), '--rates', 1, most.rate))
  if (rates.length > most.rates) {
    throw new CommandError(`--rates takes at most ${most.rates} numbers.`, { exitCode: 2 })
  }
  const seconds = bounded(values.seconds, '--seconds', 0.1, most.seconds)
  const lanes = httpLanes.filter(({ name }) => name.includes(values.lanes ?? ''))
  if (lanes.length === 0) {
    const names = httpLanes.map(({ name }) => `"${name}"`).join(', ')
    throw new CommandError(`--lanes: no lane contains "${values.lanes}"; there are ${names}.`, { exitCode: 2 })
  }
  const calls = Math.ceil(rates.reduce((sum, rate) => sum + rate, 0) * seconds * lanes.length * 3)
  if (calls > most.calls) {
    const message = `this makes ${calls} calls, more than ${most.calls}: lower --rates or --seconds.`
    throw new CommandError(message, { exitCode: 2 })
  }
  const budgetUsd = bounded(values.budget, '--budget', 0.001, most.budgetUsd)
  return { lanes, rates: rates.toSorted((a, b) => a - b), seconds, budgetUsd }
}

/** @throws CommandError for anything but a number within the bounds */
function bounded (given: string, option: string, min: number, max: number): number {
  const value = Number(given === '' ? NaN : given)
  if (value >= min && value <= max) return value
  throw new CommandError(`${option} must be between ${min} and ${max}, not "${given}".`, { exitCode: 2 })
}

/** @returns the host, in brackets if it is an IPv6 address */
function listenOf (given: string): { readonly host: string, readonly port: number } {
  if (/^[^/?#@]+:\d+$/.test(given) && URL.canParse(`tcp://${given}`)) {
    const { hostname, port } = new URL(`tcp://${given}`)
    return { host: hostname, port: Number(port) }
  }
  throw new CommandError(`--listen must be HOST:PORT, not "${given}".`, { exitCode: 2 })
}

/** Returns the entries of Headgate's configuration. */
function entryOf (address: string, gateways: readonly Gateway[]): JsonObject {
  const names = [...new Set(gateways.map(({ provider }) => provider))]
  const provider = { kind: otherUpstreamApi, base_url: `${address}/v1`, list_models: false }
  const models = names.flatMap(modelNames)
  return {
    providers: Object.fromEntries(names.map(name => [name, { ...provider }])),
    models: Object.fromEntries(models.map(name => [name, { price: { ...simulatedPrice } }]))
  }
}

function entryText (address: string, budgetUsd: number, gateways: readonly Gateway[]): string {
  const { input, cached_input: cached, output } = simulatedPrice
  return `Both gateways need this provider. In the configuration of Headgate:

${printDocument(entryOf(address, gateways)).trimEnd()}

In that of another gateway: an OpenAI-compatible provider at ${address}/v1 with any key and the
models ${simulatedModels.join(', ')}, in dollars per million tokens: ${input} input, ${cached} cached
input, ${output} output. For OVERSHOOT also a key with a budget of ${budgetUsd} dollars.
`
}

async function waitFor (
  gateway: Gateway, provider: SimulatedProvider, waitMs: number, say: Terminal['out']
): Promise<void> {
  const untilMs = performance.now() + waitMs
  let before: string | undefined
  for (;;) {
    const reason = await whyNotReady(gateway, provider)
    if (reason === undefined) return
    if (performance.now() >= untilMs) throw new CommandError(`${gateway.name} cannot be measured: ${reason}.`)
    if (reason !== before) say(`Waiting for ${gateway.name}: ${reason}`)
    before = reason
    await sleep(1_000)
  }
}
