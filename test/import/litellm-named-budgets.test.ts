import t from 'tap'
import { ColumnPlan } from '../../lib/import/column-plan.ts'
import { readStoredBudgets } from '../../lib/import/litellm-named-budgets.ts'
import { importLitellmConfig } from '../../lib/import/litellm-config.ts'
import { load } from '../support/config.ts'
import { importedTables, notesOf } from '../support/litellm-tables.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

const nowMs = Date.UTC(2026, 9, 14, 12)
const clock = { nowMs, timeZone: 'UTC', endsAtMidnight: true }

function notes ({
  rows
}: {
  readonly rows: ReadonlyArray<{ readonly path: string, readonly verdict: string, readonly note: string }>
}): Record<string, string> {
  return Object.fromEntries(rows.map(({ path, verdict, note }) => [path, `${verdict}: ${note}`]))
}

t.test('the spending limit of a model becomes a budget of the model', async t => {
  const params = { model: 'openai/gpt-4o', max_budget: 10, budget_duration: '1d' }
  const model_list = [params, { ...params, max_budget: 99 }, { ...params, model: 'openai/*' }].map(
    (litellm_params, index) => ({ model_name: index === 2 ? '*' : 'm', litellm_params })
  )
  const imported = importLitellmConfig({ model_list }, { nowMs })
  t.match(imported.config, {
    limits: {
      models: [
        { model: 'openai/gpt-4o', budgets: undefined, budget: { usd: 10, per: 'day', unpriced: 'allow' } }
      ]
    }
  })
  t.match(notes(imported), {
    'model_list[0].litellm_params.max_budget':
      /^approximate: `limits\.models`: \$10 a day, of all calls that name openai\/gpt-4o$/,
    'model_list[2].litellm_params.max_budget': /^unsupported: a budget must be for exactly one model/
  })
  t.match(
    load(t, JSON.stringify(imported.config), { OPENAI_API_KEY: 'x' }).limits.models,
    [{ model: 'openai/gpt-4o', budget: { usd: 10 } }],
    'it is a configuration'
  )
})

t.test('the budget of all end users is imported, and one without a period restarts', async t => {
  const imported = importLitellmConfig({ litellm_settings: { max_end_user_budget: 0.5 } }, { nowMs })
  t.same(imported.config['end_users'], {
    default_budget: { usd: 0.5, every: '366d', from: '2026-01-01T00:00:00Z', unpriced: 'allow' }
  })
  t.match(notes(imported), {
    'litellm_settings.max_end_user_budget': 'approximate: `end_users.default_budget`, anew every 366d'
  })
  t.match(load(t, JSON.stringify(imported.config)).endUsers, { defaultBudget: { usd: 0.5, every: '366d' } })
  const named = { litellm_settings: { max_end_user_budget_id: 'of-users' } }
  t.match(notes(importLitellmConfig(named, { nowMs })), {
    'litellm_settings.max_end_user_budget_id':
      /^manual: set `end_users.default_budget`, or give its --database/
  })
  const tables = new Map<string, JsonObject[]>([
    ['LiteLLM_BudgetTable', [{ budget_id: 'of-users', max_budget: 2, budget_duration: '1d' }]]
  ])
  const stored = readStoredBudgets(tables, named, new ColumnPlan({}), clock)
  const found = importLitellmConfig(named, { nowMs, stored })
  t.same(found.config['end_users'], { default_budget: { usd: 2, per: 'day', unpriced: 'allow' } })
  t.match(notes(found), {
    'litellm_settings.max_end_user_budget_id': 'exact: `end_users.default_budget`: $2 a day'
  })
})

t.test('tag budgets are imported', async t => {
  const all = await importedTables(tables => {
    tables['LiteLLM_TagTable'] = [
      { tag_name: 'batch', budget_id: 'shared' },
      { tag_name: 'free' },
      { tag_name: 'gone', budget_id: 'none' }
    ]
  })
  t.match(all.config, { limits: { tags: [{ tag: 'batch', budget: { usd: 3, per: 'day' } }] } })
  t.match(
    notesOf(all)['LiteLLM_TagTable.budget_id'],
    /^approximate: `limits\.tags`, of calls whose key, project or route has the tag/
  )
})

t.test(
  "the budget of a team member becomes that of the user if all of the user's keys are in the team",
  async t => {
    const bob = (all: Awaited<ReturnType<typeof importedTables>>) =>
      all.organisation.users.find(({ name }) => name === 'Bob')
    const mixed = await importedTables()
    t.equal(bob(mixed)?.limits, undefined, 'they have a key of their own')
    t.match(
      notesOf(mixed)['LiteLLM_TeamMembership.budget_id'],
      /^unsupported: a member has one budget for all keys that they own/
    )
    const only = await importedTables(tables => {
      tables['LiteLLM_VerificationToken'] = (tables['LiteLLM_VerificationToken'] ?? []).filter(
        row => row['key_alias'] !== 'personal'
      )
    })
    t.match(bob(only), { limits: { budgets: [{ usd: 1, per: 'total' }] } })
    t.match(
      only.rows.filter(({ path }) => path === 'LiteLLM_TeamMembership.budget_id'),
      [{ verdict: 'exact', note: /^limits of the user/ }]
    )
  }
)
