/**
 * Puts two gateways under the same load, one after the other, and compares them with callers who need no
 * gateway.
 */

import { budgetLane, httpLanes, type HttpLane } from './http-lanes.ts'
import { openLoop, type LoadOptions, type LoadResult } from './open-loop.ts'
import { openTarget } from './send-call.ts'
import { nanoUsdPerCall, simulatedModels, type SimulatedProvider } from './simulated-provider.ts'
import type { ProcessCost, ReadCost } from './process-cost.ts'

export interface Gateway {
  readonly name: string
  readonly url: URL
  readonly key: string | undefined
  /** A key with an unused budget of `budgetUsd`. */
  readonly budgetKey?: string
  /** The prefix of the simulated provider's models: `bench` for `bench/json`. */
  readonly provider: string
  readonly readCost?: ReadCost
}

export interface CompareOptions {
  readonly lanes: readonly HttpLane[]
  /** Calls per second, ascending. */
  readonly rates: readonly number[]
  readonly seconds: number
  readonly budgetUsd: number
  /** Sends the load. Default: `openLoop`. */
  readonly load?: typeof openLoop
}

export interface Row extends LoadResult {
  readonly lane: string
  /** Due calls per second; absent if all are sent together. */
  readonly rate?: number
  /** `direct` for callers without a gateway. */
  readonly gateway: string
  /** Calls that reached the provider. */
  readonly providerCalls: number
  readonly addedP50Ms?: number
  readonly addedP99Ms?: number
  /**
   * Difference between the cost that answers reported and the provider's charge, as a share of the latter.
   */
  readonly costError?: number
  readonly cpuUsPerCall?: number
  readonly memoryBytes?: number
  readonly memoryGrowthBytesPerCall?: number
  /** The provider's charge beyond the budget, as a share of the budget. */
  readonly overshoot?: number
  /** The provider's charge, as a share of the budget. */
  readonly budgetUsed?: number
}

/** A gateway that achieves less of a rate is not tried at higher rates. */
const keptPart = 0.95
const warmUpSeconds = 0.5

/**
 * Measures the rows of the comparison, in the order of the lanes and rates.
 *
 * @param direct the provider itself, treated as a gateway
 */
export async function * compareGateways (
  direct: Gateway,
  gateways: readonly Gateway[],
  provider: SimulatedProvider,
  { lanes, rates, seconds, budgetUsd, load: send = openLoop }: CompareOptions
): AsyncGenerator<Row> {
  for (const lane of lanes) {
    let keeping = gateways
    for (const [turn, rate] of rates.entries()) {
      const base = await measure(direct, lane, rate, seconds, provider, send)
      yield base
      const kept: Gateway[] = []
      // Who goes first has the machine as the one before left it.
      for (const gateway of turn % 2 === 0 ? keeping : keeping.toReversed()) {
        const row = await measure(gateway, lane, rate, seconds, provider, send)
        yield { ...row, addedP50Ms: row.p50Ms - base.p50Ms, addedP99Ms: row.p99Ms - base.p99Ms }
        if (row.perSecond >= rate * keptPart && row.answered >= row.due * keptPart) kept.push(gateway)
      }
      keeping = gateways.filter(gateway => kept.includes(gateway))
    }
  }
  for (const { budgetKey, ...gateway } of gateways) {
    if (budgetKey === undefined) continue
    const load = { count: budgetLane.calls, perSecond: Infinity }
    const row = await run({ ...gateway, key: budgetKey }, budgetLane, load, provider, send)
    const used = row.providerCalls * nanoUsdPerCall / 1e9 / budgetUsd
    yield { ...row, overshoot: Math.max(0, used - 1), budgetUsed: used }
  }
}

/** Returns the seconds that all lanes take, without waiting for late answers. */
export function durationOf ({ lanes, rates, seconds }: CompareOptions, gateways: number): number {
  return lanes.length * rates.length * (gateways + 1) * (seconds + warmUpSeconds)
}

async function measure (
  gateway: Gateway,
  lane: HttpLane,
  rate: number,
  seconds: number,
  provider: SimulatedProvider,
  send: typeof openLoop
): Promise<Row> {
  const warmUp = { provider: gateway.provider, count: Math.ceil(rate * warmUpSeconds), perSecond: rate }
  const target = openTarget(gateway.url, gateway.key)
  await send(target, lane, warmUp).finally(() => { target.agent.destroy() })
  const load = { count: Math.ceil(rate * seconds), perSecond: rate }
  return { ...await run(gateway, lane, load, provider, send), rate }
}

async function run (
  gateway: Gateway,
  lane: HttpLane,
  load: Pick<LoadOptions, 'count' | 'perSecond'>,
  provider: SimulatedProvider,
  send: typeof openLoop
): Promise<Row> {
  const target = openTarget(gateway.url, gateway.key)
  try {
    const [callsBefore, costBefore] = [provider.calls(), await gateway.readCost?.()]
    const result = await send(target, lane, { ...load, provider: gateway.provider })
    const providerCalls = provider.calls() - callsBefore
    return {
      lane: lane.name,
      gateway: gateway.name,
      ...result,
      providerCalls,
      ...costErrorOf(result, providerCalls),
      ...costOf(result, costBefore, await gateway.readCost?.())
    }
  } finally {
    target.agent.destroy()
  }
}

/** Returns nothing where calls failed: nobody knows what they were to cost. */
function costErrorOf (
  { costUsd, answered, due }: LoadResult, providerCalls: number
): Pick<Row, 'costError'> {
  if (costUsd === undefined || answered < due || providerCalls === 0) return {}
  const chargedUsd = providerCalls * nanoUsdPerCall / 1e9
  return { costError: (costUsd - chargedUsd) / chargedUsd }
}

function costOf ({ answered }: LoadResult, before?: ProcessCost, after?: ProcessCost) {
  if (before === undefined || after === undefined || answered === 0) return {}
  return {
    cpuUsPerCall: (after.cpuUs - before.cpuUs) / answered,
    memoryBytes: after.rssBytes,
    memoryGrowthBytesPerCall: (after.rssBytes - before.rssBytes) / answered
  }
}

/**
 * Makes one call through a gateway.
 *
 * @returns why it cannot be measured; `undefined` once its call reaches the simulated provider
 */
export async function whyNotReady (
  gateway: Gateway, provider: SimulatedProvider
): Promise<string | undefined> {
  const [lane] = httpLanes
  if (lane === undefined) return undefined
  const target = openTarget(gateway.url, gateway.key)
  try {
    const callsBefore = provider.calls()
    const load = { provider: gateway.provider, count: 1, perSecond: 1 }
    const { failures } = await openLoop(target, lane, load)
    const [failure] = Object.keys(failures)
    if (failure !== undefined) return failure
    if (provider.calls() > callsBefore) return undefined
    return 'its answer came from another provider, or from a cache'
  } finally {
    target.agent.destroy()
  }
}

/** Lists the names by which callers ask for the models of the simulated provider. */
export function modelNames (provider: string): string[] {
  return simulatedModels.map(model => `${provider}/${model}`)
}
