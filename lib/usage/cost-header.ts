/** Tells callers what a call costs, by headers of its complete answer. */

import { projectNamesOf, type ApiKey } from '../core/key.ts'
import { usageRow } from './usage-row.ts'
import type { Call } from '../core/call.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { UsageCost } from '../core/usage.ts'
import type { Settings } from '../core/settings.ts'
import type { UsageRow } from '../stores/tables.ts'

/**
 * Returns `x-headgate-cost-usd`, the amount of the usage record, and `x-headgate-cost-status` where that is
 * an estimate or no price is known. `undefined` for a call that had no model.
 *
 * @param budgetLeftNanoUsd what was left of its budget before the call. Default: it has none
 */
export function costHeaders (
  { model, cost_nano_usd: nanoUsd, estimated }: Pick<UsageRow, 'model' | 'cost_nano_usd' | 'estimated'>,
  budgetLeftNanoUsd?: number
): Record<string, string> | undefined {
  if (model === null) return undefined
  if (nanoUsd === null) return { 'x-headgate-cost-status': 'unpriced' }
  const headers: Record<string, string> = { 'x-headgate-cost-usd': usdText(nanoUsd) }
  if (budgetLeftNanoUsd !== undefined) {
    headers[budgetLeftHeader] = usdText(Math.max(0, budgetLeftNanoUsd - nanoUsd))
  }
  return estimated === 1 ? { ...headers, 'x-headgate-cost-status': 'estimated' } : headers
}

/**
 * Returns what a call costs so far, as its record would have it now; `undefined` for one without a record.
 */
export function usageCostOf (call: Call, models: Pick<ModelRegistry, 'find'>): UsageCost | undefined {
  const row = usageRow(call, models)
  if (row === undefined) return undefined
  const [promptTokens, completionTokens] = [row.prompt_tokens ?? 0, row.completion_tokens ?? 0]
  return {
    usd: row.cost_nano_usd === null ? null : row.cost_nano_usd / 1e9,
    isEstimated: row.estimated === 1,
    usage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens }
  }
}

/** Names the header with what is left of the budget that has the least left. */
export const budgetLeftHeader = 'x-headgate-budget-remaining-usd'

/** Formats an amount without an exponent, to the billionth of a dollar. */
export function usdText (nanoUsd: number): string {
  return (nanoUsd / 1e9).toFixed(9).replace(/\.?0{1,9}$/, '')
}

/**
 * Returns a function that says whether the project of a key, by its id or else its name, is not to see
 * costs; `undefined` where all of them are.
 */
export function costHiding ({
  exposeCost,
  projects
}: Settings['usage']): ((key: ApiKey) => boolean) | undefined {
  if (exposeCost && projects.every(project => project.exposeCost)) return undefined
  const exposed = new Map(projects.map(({ project, exposeCost: own }) => [project, own]))
  return key => {
    const [id, name] = projectNamesOf(key)
    return !(exposed.get(id) ?? exposed.get(name) ?? exposeCost)
  }
}
