import t from 'tap'
import { ColumnPlan, TableRow } from '../../lib/import/column-plan.ts'
import { readLimits, type ReadLimits } from '../../lib/import/litellm-limits.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

const nowMs = Date.UTC(2026, 9, 14, 12)
const monthMs = Date.UTC(2026, 9)

function read (row: JsonObject, shared?: JsonObject): ReadLimits & { readonly notes: string[] } {
  const plan = new ColumnPlan({})
  const limits = readLimits(new TableRow(plan, 'Key', row, 'it'), {
    shared: shared && new TableRow(plan, 'Budget', shared, 'shared'),
    spentIn: duration => duration === '1d' ? 2 : 9,
    clock: { nowMs, timeZone: 'UTC', endsAtMidnight: true }
  })
  return { ...limits, notes: plan.rows.map(({ path, verdict, note }) => `${path} ${verdict}: ${note}`) }
}

t.test('limits of a row take precedence over those of its budget', async t => {
  const shared = {
    max_budget: 3,
    budget_duration: '30d',
    rpm_limit: 5,
    tpm_limit: 7,
    budget_reset_at: '2026-11-01T00:00:00'
  }
  t.match(read({ rpm_limit: 9, spend: 1 }, shared), {
    limits: { requestsPerMinute: 9, tokensPerMinute: 7, budgets: [{ usd: 3, per: 'month' }] },
    isNothing: false,
    spent: [{ fromMs: monthMs, nanoUsd: 1e9 }]
  })
  t.match(read({ max_budget: 8, budget_duration: '1d', spend: 1 }, shared).limits, {
    budgets: [{ usd: 8, per: 'day' }]
  })
  t.match(
    read({ max_budget: 8 }, shared).limits,
    { budgets: [{ usd: 8, per: 'month' }] },
    'its period is that of the shared one'
  )
  t.match(read({ max_budget: 8 }).limits, { budgets: [{ usd: 8, per: 'total' }] })
})

t.test('several budgets apply together, each with the spending of its period', async t => {
  const limits = read({
    max_budget: 50,
    spend: 20,
    budget_limits: [
      { max_budget: 4, budget_duration: '1d' },
      { max_budget: 90, budget_duration: '30d' },
      { max_budget: 1 }
    ]
  })
  t.match(limits.limits, {
    budgets: [
      { usd: 50, per: 'total' },
      { usd: 4, per: 'day' },
      { usd: 90, per: 'month' }
    ]
  })
  t.match(limits.spent, [{ fromMs: 0, nanoUsd: 20e9 }, { nanoUsd: 2e9 }, { fromMs: monthMs, nanoUsd: 9e9 }])
  const many = read({
    budget_limits: Array.from({ length: 9 }, (_, index) => ({
      max_budget: 1,
      budget_duration: `${index + 2}d`
    }))
  })
  t.equal(many.limits?.budgets?.length, 8)
  t.ok(many.notes.some(note => note.startsWith('Key.budget_limits unsupported: at most 8 budgets')))
})

t.test('a limit of 0 allows nothing, and a missing limit allows everything', async t => {
  for (const row of [
    { max_budget: 0 },
    { rpm_limit: 0 },
    { budget_limits: [{ max_budget: 0, budget_duration: '1d' }] }
  ]) {
    t.match(read(row), { isNothing: true, limits: undefined })
  }
  t.match(read({ spend: 3 }), {
    isNothing: false,
    limits: undefined,
    spent: [],
    notes: [/^Key\.spend approximate: no budget of its own counts it/]
  })
  t.same(read({ spend: 0 }).notes, [])
})

t.test('a soft budget only warns and takes the period of the hard one, wherever either is set', async t => {
  const month = { budget_duration: '30d', spend: 6 }
  t.match(read({ max_budget: 9, soft_budget: 5, ...month }), {
    limits: {
      budgets: [
        { usd: 9, per: 'month' },
        { usd: 5, per: 'month', soft: true }
      ]
    },
    isNothing: false,
    spent: [
      { fromMs: monthMs, nanoUsd: 6e9 },
      { fromMs: monthMs, nanoUsd: 6e9 }
    ]
  })
  t.match(read({ spend: 1 }, { soft_budget: 5, budget_duration: '1d' }).limits, {
    budgets: [{ usd: 5, per: 'day', soft: true }]
  })
  t.match(read({ soft_budget: 0 }), {
    limits: undefined,
    isNothing: false,
    notes: [/^Key\.soft_budget exact: it warns about everything/]
  })
})
