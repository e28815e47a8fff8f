import t from 'tap'
import {
  limitAccountsOf, isNonTokenUnit, limitedParties, partyText, usageLimits
} from '../../lib/limits/call-accounts.ts'
import { counterName } from '../../lib/limits/sum-keys.ts'

t.test('a call has an account for each limit of each party', async t => {
  const accounts = limitAccountsOf([
    { kind: 'key', id: 'k', limits: { requestsPerMinute: 5, budget: { usd: 1, per: 'day' } } },
    {
      kind: 'project',
      id: 'p',
      limits: { concurrentCalls: 3, budgets: [{ usd: 2, per: 'hour' }, { usd: 3 }], strict: false }
    }
  ])
  t.match(accounts, [
    {
      party: { kind: 'key', id: 'k' },
      counting: 'sum',
      unit: 'nanoUsd',
      max: 1e9,
      window: { per: 'day' },
      strict: true
    },
    { party: { kind: 'key' }, counting: 'rate', unit: 'requests', max: 5 },
    {
      party: { kind: 'project', id: 'p' }, counting: 'sum', max: 2e9, window: { per: 'hour' }, strict: false
    },
    { party: { kind: 'project' }, counting: 'sum', max: 3e9, window: { per: 'month' } },
    { party: { kind: 'project' }, counting: 'open', unit: 'calls', max: 3 }
  ])
  t.equal(accounts.length, 5)
  t.same(
    limitAccountsOf(
      [{ kind: 'key', id: 'k', limits: { tokensPerMinute: 5, budget: { usd: 1 } } }], false
    ).map(
      ({ unit }) => unit
    ),
    ['tokens'],
    'a caller who pays needs no budget'
  )
})

t.test('of two budgets with the same window the lower one applies', async t => {
  const budgets = [
    { usd: 5, per: 'day' },
    { usd: 2, per: 'day' },
    { usd: 3, per: 'day', timeZone: 'Europe/Berlin' }
  ] as const
  t.same(
    limitAccountsOf([{ kind: 'key', id: 'k', limits: { budgets } }]).map(({ max }) => max),
    [2e9, 3e9]
  )
})

t.test(
  'keys and projects are identified by the ids that older counters have, other parties by kind and id',
  async t => {
    t.same(
      (['key', 'project', 'end_user', 'tag'] as const).map(kind => counterName({ kind, id: 'x' })),
      ['x', 'x', 'end_user:x', 'tag:x']
    )
  }
)

t.test('a soft budget shares the sum of its window and never refuses', async t => {
  const budgets = [
    { usd: 5, per: 'day' },
    { usd: 2, per: 'day', soft: true },
    { usd: 1, per: 'week', soft: true },
    { usd: 3, per: 'week', soft: true }
  ] as const
  const accounts = limitAccountsOf([{ kind: 'tag', id: 'x', limits: { budgets } }])
  t.match(accounts, [
    { max: 5e9, strict: true, budget: budgets[0], soft: [budgets[1]] },
    { max: Number.MAX_SAFE_INTEGER, strict: false, budget: undefined, soft: [budgets[2], budgets[3]] }
  ])
  t.equal(accounts.length, 2)
})

t.test(
  'limits of an owner apply to all their keys, after those of the key and its project',
  async t => {
    const limits = { requestsPerMinute: 1 }
    const member = { id: 'user-1', name: 'Ada', limits }
    t.same(limitedParties({ id: 'k', name: 'k', project: { id: 'p', name: 'P', limits }, member }, limits), [
      { kind: 'key', id: 'k', limits },
      { kind: 'project', id: 'p', limits },
      { kind: 'member', id: 'user-1', limits }
    ])
  }
)

t.test('a refusal names the configured party, or else its kind', async t => {
  t.same(
    (['key', 'member', 'end_user', 'tag', 'model'] as const).map(kind => partyText({ kind, id: 'x' })),
    ['this API key', 'this member', 'this end user', 'the tag `x`', 'the model `x`']
  )
})

t.test('a unit that is billed instead of tokens is known by its column', async t => {
  t.same(
    (['images', 'pages', 'audio_ms', 'characters', 'tokens', 'nanoUsd', 'requests'] as const).filter(
      isNonTokenUnit
    ),
    ['images', 'pages', 'audio_ms', 'characters']
  )
})

t.test(
  'limits on usage are tokens and budget with its strictness; absent ones stay absent',
  async t => {
    const budget = { usd: 5, per: 'day' } as const
    t.strictSame(usageLimits({ requestsPerMinute: 1, tokensPerMinute: 2, concurrentCalls: 3, budget }), {
      tokensPerMinute: 2,
      budget
    })
    t.strictSame(usageLimits({ budget, strict: false }), { budget, strict: false })
    t.strictSame(usageLimits({ requestsPerMinute: 1 }), {})
  }
)
