import t from 'tap'
import { readBudget, spreadSpending, type BudgetClock } from '../../lib/import/litellm-budgets.ts'

const nowMs = Date.UTC(2026, 9, 14, 12, 30) // a Wednesday
const utc: BudgetClock = { nowMs, timeZone: 'UTC', endsAtMidnight: true }
const day = 86_400_000
const [nextDay, nextWeek, nextMonth] = [Date.UTC(2026, 9, 15), Date.UTC(2026, 9, 19), Date.UTC(2026, 10)]

/** Durations with the end of the current period, and the budget that counts the same. */
const periods: ReadonlyArray<
  readonly [
    duration: string | undefined,
    resetAtMs: number | undefined,
    budget: object,
    fromMs: number,
    verdict: string,
    clock?: Partial<BudgetClock>
  ]
> = [
  [undefined, undefined, { per: 'total' }, 0, 'exact'],
  ['1d', nextDay, { per: 'day' }, nextDay - day, 'exact'],
  ['24h', nextDay, { per: 'day' }, nextDay - day, 'exact'],
  ['daily', nextDay, { per: 'day' }, nextDay - day, 'exact'],
  ['7d', nextWeek, { per: 'week' }, nextWeek - 7 * day, 'exact'],
  ['1w', nextWeek, { per: 'week' }, nextWeek - 7 * day, 'exact'],
  ['30d', nextMonth, { per: 'month' }, Date.UTC(2026, 9), 'exact'],
  ['1mo', nextMonth, { per: 'month' }, Date.UTC(2026, 9), 'exact'],
  ['1h', Date.UTC(2026, 9, 14, 13), { per: 'hour' }, Date.UTC(2026, 9, 14, 12), 'exact'],
  ['30d', undefined, { per: 'month' }, Date.UTC(2026, 9), 'exact'],
  ['30d', Date.UTC(2026, 9, 20), { per: 'month' }, Date.UTC(2026, 9), 'approximate'],
  [
    '10d',
    Date.UTC(2026, 9, 20),
    { every: '10d', from: '2026-10-20T00:00:00Z' },
    Date.UTC(2026, 9, 10),
    'exact'
  ],
  [
    '2w',
    Date.UTC(2026, 9, 20),
    { every: '14d', from: '2026-10-20T00:00:00Z' },
    Date.UTC(2026, 9, 6),
    'exact'
  ],
  [
    '6h',
    Date.UTC(2026, 9, 14, 18),
    { every: '6h', from: '2026-10-14T18:00:00Z' },
    Date.UTC(2026, 9, 14, 12),
    'exact'
  ],
  [
    '5h',
    Date.UTC(2026, 9, 14, 15),
    { every: '5h', from: '2026-10-14T15:00:00Z' },
    Date.UTC(2026, 9, 14, 10),
    'approximate'
  ],
  ['30m', Date.UTC(2026, 9, 14, 13), { every: '30m', from: '2026-10-14T13:00:00Z' }, nowMs, 'exact'],
  ['2mo', nextMonth, { every: '60d', from: '2026-11-01T00:00:00Z' }, nextMonth - 60 * day, 'approximate'],
  ['whenever', nextDay, { per: 'day' }, nextDay - day, 'approximate'],
  [
    '1d',
    Date.UTC(2026, 9, 14, 22),
    { per: 'day', timeZone: 'Europe/Berlin' },
    Date.UTC(2026, 9, 13, 22),
    'exact',
    { timeZone: 'Europe/Berlin' }
  ],
  [
    '10d',
    Date.UTC(2026, 9, 19, 22),
    { every: '10d', from: '2026-10-19T22:00:00Z' },
    Date.UTC(2026, 9, 9, 22),
    'approximate',
    { timeZone: 'Europe/Berlin' }
  ],
  [
    '1d',
    Date.UTC(2026, 9, 15, 9),
    { every: '1d', from: '2026-10-15T09:00:00Z' },
    Date.UTC(2026, 9, 14, 9),
    'exact',
    { endsAtMidnight: false }
  ],
  [
    '7d',
    Date.UTC(2026, 9, 19, 9),
    { every: '7d', from: '2026-10-19T09:00:00Z' },
    Date.UTC(2026, 9, 12, 9),
    'exact',
    { endsAtMidnight: false }
  ],
  [
    '30d',
    Date.UTC(2026, 10, 1, 9),
    { per: 'month' },
    Date.UTC(2026, 9),
    'approximate',
    { endsAtMidnight: false }
  ]
]

for (const [duration, resetAtMs, budget, fromMs, verdict, clock] of periods) {
  t.test(`${duration ?? 'no duration'} ${JSON.stringify(budget)}`, async t => {
    const read = readBudget({ amount: 5, duration, resetAtMs, spent: 1.25 }, { ...utc, ...clock })
    t.same(read.budget, { usd: 5, unpriced: 'allow', ...budget })
    t.match(read, { verdict, spent: { fromMs, nanoUsd: 1.25e9 } })
  })
}

t.test('an expired period counts no spending, and amounts are capped', async t => {
  t.same(readBudget({ amount: 5, duration: '7d', resetAtMs: nowMs, spent: 4 }, utc).spent, {
    fromMs: nextWeek - 7 * day,
    nanoUsd: 0
  })
  t.equal(readBudget({ amount: 1e9, spent: 0 }, utc).budget.usd, 1_000_000)
})

t.test('each budget finds the spending of its own period, including that of other budgets', async t => {
  const month = Date.UTC(2026, 9)
  const spread = spreadSpending(
    [
      { fromMs: month, nanoUsd: 50 },
      { fromMs: nextDay - day, nanoUsd: 8 },
      { fromMs: 0, nanoUsd: 70 }
    ],
    Date.UTC(2026, 9, 10)
  )
  t.same(spread, [
    { fromMs: nextDay - day, nanoUsd: 8 },
    { fromMs: month, nanoUsd: 42 },
    { fromMs: month - day, nanoUsd: 20 }
  ])
  const of = (fromMs: number): number =>
    spread.reduce((sum, each) => sum + (each.fromMs >= fromMs ? each.nanoUsd : 0), 0)
  t.same(spreadSpending([{ fromMs: month, nanoUsd: 60 }], 1, of), [{ fromMs: month, nanoUsd: 10 }])
  t.same(spreadSpending([{ fromMs: month, nanoUsd: 40 }], 1, of), [{ fromMs: month, nanoUsd: -10 }])
  t.same(
    spreadSpending(
      [
        { fromMs: month, nanoUsd: 5 },
        { fromMs: month, nanoUsd: 6 }
      ],
      1
    ),
    [{ fromMs: month, nanoUsd: 6 }],
    'two budgets of one period'
  )
  t.same(spreadSpending([{ fromMs: 0, nanoUsd: 0 }], 1), [])
})
