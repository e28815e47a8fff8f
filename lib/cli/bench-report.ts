/** Prints the table of a comparison, why some of its cells are empty, and what it cannot show. */

import { table } from './table.ts'
import { costHeaders } from '../load/send-call.ts'
import type { Gateway, Row } from '../load/compare-gateways.ts'

const headings = [
  'LANE', 'DUE/S', 'GATEWAY', 'CALLS/S', 'P50 MS', 'P99 MS', 'ADDED P50', 'ADDED P99', 'FAILED', 'COST ERROR',
  'CPU US/CALL', 'MEMORY MB', 'GROWTH KB/CALL', 'OVERSHOOT'
]

export function benchTable (rows: readonly Row[]): string {
  return table([headings, ...rows.map(row => [
    row.lane,
    row.rate === undefined ? 'at once' : String(row.rate),
    row.gateway,
    row.perSecond.toFixed(1),
    fixed(row.p50Ms, 2),
    fixed(row.p99Ms, 2),
    fixed(row.addedP50Ms, 2),
    fixed(row.addedP99Ms, 2),
    String(row.due - row.answered),
    percent(row.costError, 3),
    fixed(row.cpuUsPerCall, 0),
    fixed(row.memoryBytes === undefined ? undefined : row.memoryBytes / 1e6, 0),
    fixed(row.memoryGrowthBytesPerCall === undefined ? undefined : row.memoryGrowthBytesPerCall / 1e3, 1),
    percent(row.overshoot, 1)
  ])])
}

function fixed (value: number | undefined, digits: number): string {
  return value === undefined || Number.isNaN(value) ? '' : value.toFixed(digits)
}

function percent (value: number | undefined, digits: number): string {
  return value === undefined ? '' : `${(value * 100).toFixed(digits)} %`
}

/** Returns what the table alone would hide: failures, and reasons for empty cells. */
export function benchNotes (rows: readonly Row[], gateways: readonly Gateway[]): string[] {
  return [
    ...rows.flatMap(row => rowNotes(row).map(note => `${rowName(row)}: ${note}`)),
    ...gateways.flatMap(emptyCells),
    ...gateways.filter(({ name }) => saysNoCost(rows, name)).map(({ name }) => (
      `${name}: COST ERROR is empty: not all answers say what they cost (${costHeaders.join(' or ')}).`
    )),
    ...rows.some(({ lane, costError }) => lane.includes('events') && costError === undefined)
      ? ['COST ERROR is empty in lanes of streams: headers come before a stream has its cost.']
      : []
  ]
}

function rowNotes ({ failures, providerCalls, answered, budgetUsed }: Row): string[] {
  const used = `${providerCalls} calls reached the provider and took ${percent(budgetUsed, 0)} of the budget.`
  return [
    ...Object.entries(failures).map(([reason, count]) => `${count} calls failed: ${reason}`),
    ...providerCalls < answered
      ? [`${answered - providerCalls} answers did not come from the provider; is caching enabled?`]
      : [],
    ...budgetUsed === undefined ? [] : [providerCalls === 0 ? `${used} Was the budget already used up?` : used]
  ]
}

function emptyCells ({ name, readCost, budgetKey }: Gateway): string[] {
  const side = name.toLowerCase()
  return [
    ...readCost === undefined
      ? [`${name}: CPU and memory are empty without --pid-${side} or --metrics-${side}.`]
      : [],
    ...budgetKey === undefined ? [`${name}: OVERSHOOT is empty without --budget-key-${side}.`] : []
  ]
}

function rowName ({ gateway, lane, rate }: Row): string {
  return `${gateway}, ${lane}${rate === undefined ? '' : `, ${rate}/s`}`
}

function saysNoCost (rows: readonly Row[], name: string): boolean {
  const complete = rows.filter(({ gateway, lane }) => gateway === name && lane.startsWith('JSON'))
  return complete.some(({ answered, due, costUsd }) => answered === due && costUsd === undefined)
}

/** What the numbers cannot show, whatever the gateways. */
export const limitsOfComparison = [
  'Added times are times through a gateway minus those of direct calls, and include the network.',
  'Callers and provider share the processors of this machine with every gateway that runs on it.',
  'A gateway with keys, limits and records does more than one without: compare what is on.',
  'Calls are evenly spaced. Two runs differ by up to 10 %; repeat a run before you trust a smaller difference.'
]
