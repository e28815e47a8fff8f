/** Converts LiteLLM's budgets of tags, models and end users to those of the configuration. */

import { fromPartyLimits } from '../keys/party-limits.ts'
import { TableRow, type ColumnPlan } from './column-plan.ts'
import { readBudget, type BudgetClock, type LitellmBudget, type ReadBudget } from './litellm-budgets.ts'
import type { ImportPlan } from './plan.ts'
import { amountOf, objectOrEmpty } from './values.ts'
import { nonEmptyText, type JsonObject } from '../json/type-guards.ts'

/** Budgets that the database has. */
export interface StoredBudgets {
  /** Entries of `limits.tags`. */
  readonly tags: readonly JsonObject[]
  /** The budget that `litellm_settings.max_end_user_budget_id` names. */
  readonly endUser?: LitellmBudget | undefined
}

const maxTagLength = 64
/** The longest window of end users, whose budgets must end. */
const longest = '366d'

/** Reads the budgets that tables refer to. */
export function readStoredBudgets (
  rows: ReadonlyMap<string, readonly JsonObject[]>,
  document: JsonObject,
  plan: ColumnPlan,
  clock: BudgetClock
): StoredBudgets {
  const table = (name: string, column: string): TableRow[] => (rows.get(name) ?? []).map(
    row => new TableRow(plan, name, row, nonEmptyText(row[column]) ?? '')
  )
  const budgets = new Map(table('LiteLLM_BudgetTable', 'budget_id').map(row => [row.name, budgetOf(row)]))
  const tags = table('LiteLLM_TagTable', 'tag_name').flatMap(row => {
    const budget = budgets.get(row.text('budget_id') ?? '')
    if (budget === undefined || row.name === '' || row.name.length > maxTagLength) return []
    return [{ tag: row.name, ...entryOf(readBudget(budget, clock)) }]
  })
  const id = nonEmptyText(objectOrEmpty(document['litellm_settings'])['max_end_user_budget_id'])
  return { tags, endUser: id === undefined ? undefined : budgets.get(id) }
}

function budgetOf (row: TableRow): LitellmBudget | undefined {
  const amount = row.number('max_budget')
  if (amount === undefined || amount <= 0) return undefined
  return {
    amount,
    duration: row.text('budget_duration'),
    resetAtMs: row.time('budget_reset_at'),
    spent: 0
  }
}

/** Returns an entry with the budget in the form of the configuration. */
function entryOf ({ budget }: ReadBudget): JsonObject {
  return { ...fromPartyLimits({ budget }) }
}

/** Returns `end_users`; `undefined` if the proxy has no budget for all of them. */
export function readEndUsers (
  document: JsonObject,
  plan: ImportPlan,
  { endUser }: StoredBudgets,
  clock: BudgetClock
): JsonObject | undefined {
  const settings = objectOrEmpty(document['litellm_settings'])
  const amount = amountOf(settings['max_end_user_budget'])
  const byId = 'litellm_settings.max_end_user_budget_id'
  if (endUser === undefined) {
    plan.note(byId, 'manual', 'set `end_users.default_budget`, or give its --database')
  }
  const wanted = endUser ?? (amount !== undefined && amount > 0 ? { amount, spent: 0 } : undefined)
  if (wanted === undefined) return undefined
  const path = endUser === undefined ? 'litellm_settings.max_end_user_budget' : byId
  const read = readBudget(wanted, clock)
  if (read.budget.per !== 'total') {
    plan.note(path, read.verdict, `\`end_users.default_budget\`: ${read.note}`)
    return { default_budget: entryOf(read)['budget'] }
  }
  const from = new Date(Date.UTC(new Date(clock.nowMs).getUTCFullYear(), 0)).toISOString().replace('.000', '')
  plan.note(path, 'approximate', `\`end_users.default_budget\`, anew every ${longest}`)
  return { default_budget: { usd: read.budget.usd, every: longest, from, unpriced: 'allow' } }
}

/** Returns an entry of `limits.models` for a deployment's budget; `undefined` if it has none. */
export function readModelBudget (
  model: string,
  params: JsonObject,
  path: string,
  plan: ImportPlan,
  clock: BudgetClock
): JsonObject | undefined {
  const amount = amountOf(params['max_budget'])
  if (amount === undefined) return undefined
  const fields = ['max_budget', 'budget_duration']
  if (amount <= 0 || model.includes('*')) {
    plan.noteFields(path, fields, 'unsupported', 'a budget must be for exactly one model')
    return undefined
  }
  const read = readBudget({ amount, duration: nonEmptyText(params['budget_duration']), spent: 0 }, clock)
  plan.noteFields(
    path,
    fields,
    'approximate',
    `\`limits.models\`: ${read.note}, of all calls that name ${model}`
  )
  return { model, ...entryOf(read) }
}
