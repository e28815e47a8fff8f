import t from 'tap'
import { accountsOf, partyName } from '../../lib/limits/call-accounts.ts'

t.test('a call has an account for each limit of each party', async t => {
  const accounts = accountsOf([
    { kind: 'key', id: 'k', limits: { requestsPerMinute: 5, budget: { usd: 1, per: 'day' } } },
    { kind: 'project', id: 'p', limits: { concurrentCalls: 3, budgets: [{ usd: 2, per: 'hour' }, { usd: 3 }], strict: false } }
  ])
  t.match(accounts, [
    { party: 'key', partyId: 'k', counting: 'sum', unit: 'nanoUsd', amount: 1e9, window: { per: 'day' }, strict: true },
    { party: 'key', counting: 'rate', unit: 'requests', amount: 5 },
    { party: 'project', partyId: 'p', counting: 'sum', amount: 2e9, window: { per: 'hour' }, strict: false },
    { party: 'project', counting: 'sum', amount: 3e9, window: { per: 'month' } },
    { party: 'project', counting: 'open', unit: 'calls', amount: 3 }
  ])
  t.equal(accounts.length, 5)
  t.same(accountsOf([{ kind: 'key', id: 'k', limits: { tokensPerMinute: 5, budget: { usd: 1 } } }], false).map(({ unit }) => unit), ['tokens'], 'a caller who pays needs no budget')
})

t.test('of two budgets of one window the lower one holds', async t => {
  const budgets = [{ usd: 5, per: 'day' }, { usd: 2, per: 'day' }, { usd: 3, per: 'day', timeZone: 'Europe/Berlin' }] as const
  t.same(accountsOf([{ kind: 'key', id: 'k', limits: { budgets } }]).map(({ amount }) => amount), [2e9, 3e9])
})

t.test('keys and projects are named by their ids, which counters of earlier versions have, others with their kind', async t => {
  t.same((['key', 'project', 'end_user', 'tag'] as const).map(party => partyName({ party, partyId: 'x' })), ['x', 'x', 'end_user:x', 'tag:x'])
})
