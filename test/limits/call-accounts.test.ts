import t from 'tap'
import {
  accountsOf,
  limitedParties,
  partyName,
  partyText,
  isInsteadOfTokens,
  recordedUsages,
  usedIn,
  wantedUnits
} from '../../lib/limits/call-accounts.ts'
import { NamedBudgets } from '../../lib/limits/named-budgets.ts'
import { usageRowOf } from '../support/usage.ts'
import { settings } from '../support/settings.ts'
import type { ApiKey } from '../../lib/core/key.ts'

t.test('a call has an account for each limit of each party', async t => {
  const accounts = accountsOf([
    { kind: 'key', id: 'k', limits: { requestsPerMinute: 5, budget: { usd: 1, per: 'day' } } },
    {
      kind: 'project',
      id: 'p',
      limits: { concurrentCalls: 3, budgets: [{ usd: 2, per: 'hour' }, { usd: 3 }], strict: false }
    }
  ])
  t.match(accounts, [
    {
      party: 'key',
      partyId: 'k',
      counting: 'sum',
      unit: 'nanoUsd',
      amount: 1e9,
      window: { per: 'day' },
      strict: true
    },
    { party: 'key', counting: 'rate', unit: 'requests', amount: 5 },
    { party: 'project', partyId: 'p', counting: 'sum', amount: 2e9, window: { per: 'hour' }, strict: false },
    { party: 'project', counting: 'sum', amount: 3e9, window: { per: 'month' } },
    { party: 'project', counting: 'open', unit: 'calls', amount: 3 }
  ])
  t.equal(accounts.length, 5)
  t.same(
    accountsOf([{ kind: 'key', id: 'k', limits: { tokensPerMinute: 5, budget: { usd: 1 } } }], false).map(
      ({ unit }) => unit
    ),
    ['tokens'],
    'a caller who pays needs no budget'
  )
})

t.test('of two budgets of one window the lower one holds', async t => {
  const budgets = [
    { usd: 5, per: 'day' },
    { usd: 2, per: 'day' },
    { usd: 3, per: 'day', timeZone: 'Europe/Berlin' }
  ] as const
  t.same(
    accountsOf([{ kind: 'key', id: 'k', limits: { budgets } }]).map(({ amount }) => amount),
    [2e9, 3e9]
  )
})

t.test(
  'keys and projects are named by their ids, which counters of earlier versions have, others with their kind',
  async t => {
    t.same(
      (['key', 'project', 'end_user', 'tag'] as const).map(party => partyName({ party, partyId: 'x' })),
      ['x', 'x', 'end_user:x', 'tag:x']
    )
  }
)

t.test('a soft budget shares the sum of its window, and never refuses', async t => {
  const budgets = [
    { usd: 5, per: 'day' },
    { usd: 2, per: 'day', soft: true },
    { usd: 1, per: 'week', soft: true },
    { usd: 3, per: 'week', soft: true }
  ] as const
  const accounts = accountsOf([{ kind: 'tag', id: 'x', limits: { budgets } }])
  t.match(accounts, [
    { amount: 5e9, strict: true, budget: budgets[0], soft: [budgets[1]] },
    { amount: Number.MAX_SAFE_INTEGER, strict: false, budget: undefined, soft: [budgets[2], budgets[3]] }
  ])
  t.equal(accounts.length, 2)
})

t.test(
  'limits of an owner hold for all keys that they own, after those of the key and of its project',
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

t.test('a refusal names what the configuration names, and otherwise the kind', async t => {
  t.same(
    (['key', 'member', 'end_user', 'tag', 'model'] as const).map(party =>
      partyText({ party, partyId: 'x' })
    ),
    ['this API key', 'this member', 'this end user', 'the tag `x`', 'the model `x`']
  )
})

t.test('what a call used is read from its record', async t => {
  t.match(usedIn(usageRowOf(0, { prompt_tokens: 5, completion_tokens: 7, cost_nano_usd: 9, attempts: 3 })), {
    requests: 2,
    tokens: 12,
    calls: 0,
    nanoUsd: 9
  })
  t.match(
    usedIn(
      usageRowOf(0, { prompt_tokens: null, completion_tokens: null, cost_nano_usd: null, attempts: 0 })
    ),
    { requests: 0, tokens: 0, nanoUsd: 0 }
  )
})

t.test('records say in which accounts their calls counted, unless their key is gone', async t => {
  const key: ApiKey = {
    id: 'key-1',
    name: 'one',
    limits: { budget: { usd: 1, per: 'day' } },
    project: { id: 'p', name: 'p', limits: { imagesPerDay: 3 } }
  }
  const rows = [usageRowOf(1, { key_id: 'key-1', cost_nano_usd: 9 }), usageRowOf(2, { key_id: 'gone' })]
  t.match(
    recordedUsages(rows, id => (id === key.id ? key : undefined), undefined),
    [
      {
        row: { id: 'row-1' },
        used: { nanoUsd: 9 },
        accounts: [
          { partyId: 'key-1', unit: 'nanoUsd' },
          { partyId: 'p', unit: 'images' }
        ]
      }
    ]
  )
})

t.test('limits may count any unit that is billed in place of tokens, as its column does', async t => {
  t.match(usedIn(usageRowOf(0, { images: 2, pages: 3, audio_ms: 1500, characters: 4 })), {
    images: 2,
    pages: 3,
    audio_ms: 1500,
    characters: 4
  })
  t.same(
    (['images', 'pages', 'audio_ms', 'characters', 'tokens', 'nanoUsd', 'requests'] as const).filter(
      isInsteadOfTokens
    ),
    ['images', 'pages', 'audio_ms', 'characters']
  )
})

t.test('a request wants the most that it can use of a unit, and of others nothing', async t => {
  t.same(wantedUnits({ prompt: 9, completion: 9 }), {})
  t.same(wantedUnits({ prompt: 9, completion: 9, units: { images: { count: 2 } } }), {
    images: { most: 2, least: 2, usual: 2 }
  })
  t.same(wantedUnits({ prompt: 9, completion: 9, toolImages: 1 }), { images: { most: 1 } })
  const pages = { units: { pages: 1 }, maxUnits: { pages: 1000 }, minUnits: { pages: 1 } }
  t.same(wantedUnits({ prompt: 0, completion: 0, ...pages }), { pages: { most: 1000, least: 1, usual: 1 } })
  t.same(wantedUnits({ prompt: 0, completion: 0, units: { audioSeconds: 1.5 } }), {
    audio_ms: { most: 1500, least: 1500, usual: 1500 }
  })
})

t.test('a record counts in the parties that it names as well, as far as they have budgets', async t => {
  const { limits, ...others } = settings()
  const named = new NamedBudgets(
    { ...others, limits: { ...limits, tags: [{ tag: 'nightly', budget: { usd: 2, per: 'day' } }] } },
    { secret: Buffer.alloc(32) }
  )
  const rows = [usageRowOf(1, { parties: '["tag:nightly","tag:gone","end_user:p/x"]' })]
  t.match(
    recordedUsages(rows, id => ({ id, name: id }), undefined, named),
    [{ accounts: [{ party: 'tag', partyId: 'nightly', amount: 2e9 }] }]
  )
})
