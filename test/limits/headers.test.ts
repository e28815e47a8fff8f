import t from 'tap'
import { accountsOf } from '../../lib/limits/call-accounts.ts'
import type { KeyLimits } from '../../lib/core/key.ts'
import { durationText, rateLimitHeaders, refusalHeaders } from '../../lib/limits/headers.ts'

const accounts = (limits: KeyLimits) => accountsOf([{ kind: 'key', id: 'a', limits }])
const rateLimits = { requests: { limit: 60, remaining: 59, resetMs: 1000 } }

t.test('limits are written for requests and tokens, if the key has them', async t => {
  t.same(rateLimitHeaders({}), {})
  t.same(rateLimitHeaders({ ...rateLimits, tokens: { limit: 1000, remaining: 0, resetMs: 60_000 } }), {
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1s',
    'x-ratelimit-limit-tokens': '1000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '1m0s'
  })
})

t.test('a refusal for what is in flight says that no request remains', async t => {
  t.same(
    refusalHeaders(
      { admitted: false, account: 0, reason: 'concurrent_calls', waitMs: 1000, used: [], rateLimits },
      accounts({ concurrentCalls: 2 })
    ),
    {
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1s'
    },
    'calls at once'
  )
  t.same(
    refusalHeaders(
      { admitted: false, account: 0, reason: 'budget_reserved', waitMs: 1000, used: [], rateLimits: {} },
      accounts({ budget: { usd: 1, per: 'day' } })
    ),
    {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1s'
    },
    'a budget that calls in flight may use up'
  )
  t.same(
    refusalHeaders(
      { admitted: false, account: 0, reason: 'requests', waitMs: 1500, used: [], rateLimits },
      accounts({ requestsPerMinute: 60 })
    ),
    rateLimitHeaders(rateLimits),
    'a limit per minute'
  )
  t.same(
    refusalHeaders(
      {
        admitted: false,
        account: 0,
        reason: 'budget',
        waitMs: 0,
        endMs: 7_200_000,
        used: [],
        rateLimits: {}
      },
      accounts({ budget: { usd: 1, per: 'hour' } })
    ),
    { 'x-headgate-budget-reset': '7200' },
    'the end of its window'
  )
  t.same(
    refusalHeaders(
      {
        admitted: false,
        account: 0,
        reason: 'budget',
        waitMs: 0,
        endMs: Infinity,
        used: [],
        rateLimits: {}
      },
      accounts({ budget: { usd: 1, per: 'total' } })
    ),
    {},
    'a budget without an end'
  )
})

t.test('durations are written with their units', async t => {
  t.same([20, 1500, 60_000, 366_000].map(durationText), ['20ms', '1.5s', '1m0s', '6m6s'])
})

t.test('durations are written as clients read them', async t => {
  for (const [ms, text] of [
    [0, '0ms'],
    [20, '20ms'],
    [1000, '1s'],
    [1500, '1.5s'],
    [60_000, '1m0s'],
    [90_250, '1m30.25s']
  ] as const) {
    t.equal(durationText(ms), text)
  }
})
