import t from 'tap'
import { budgetText, nanoUsdOf, projectIdOf, projectNamesOf, presentedKeys } from '../../lib/core/key.ts'

t.test('a budget is counted in billionths of a dollar', async t => {
  t.equal(nanoUsdOf({ usd: 0.1 + 0.2, per: 'day' }), 300_000_000)
  t.equal(nanoUsdOf({ usd: 20, per: 'day' }), 20_000_000_000)
})

t.test('a budget is printed in words', async t => {
  t.equal(budgetText({ usd: 20, per: 'month' }), '$20 a month')
  t.equal(budgetText({ usd: 0.5, per: 'total' }), '$0.5 in total')
  t.equal(budgetText({ usd: 2, per: 'hour', timeZone: 'Asia/Kolkata' }), '$2 an hour of Asia/Kolkata')
  t.equal(budgetText({ usd: 2, every: '30d', from: '2026-01-01T00:00:00Z' }), '$2 every 30d')
})

t.test("a key's project has an id and a name; without a project both are the default", async t => {
  const key = { project: { id: 'p-1', name: 'support' } }
  t.same([projectIdOf(key), projectIdOf({})], ['p-1', 'default'])
  t.same([projectNamesOf(key), projectNamesOf({})], [['p-1', 'support'], ['default', 'default']])
})

t.test('each header is read in the format of its clients', async t => {
  const rows: ReadonlyArray<readonly [headers: Record<string, string | string[]>, keys: string[]]> = [
    [{ authorization: 'Bearer a b' }, ['a b']],
    [{ authorization: 'bearer a' }, ['a']],
    [{ authorization: 'Basic a' }, []],
    [{ 'x-api-key': 'a' }, ['a']],
    [{ 'x-api-key': 'Bearer a' }, ['Bearer a']],
    [{ 'api-key': 'a' }, ['a']],
    [{ 'x-goog-api-key': 'a' }, ['a']],
    [{ 'x-litellm-api-key': 'a' }, ['a']],
    [{ 'x-litellm-api-key': 'Bearer a' }, ['a']],
    [{ 'x-api-key': ['a', 'b'] }, []],
    [{}, []]
  ]
  for (const [headers, keys] of rows) t.same(presentedKeys(headers), keys, JSON.stringify(headers))
})

t.test('keys are listed in order of precedence, whatever the order of the headers', async t => {
  const headers = {
    'x-goog-api-key': '5',
    'api-key': '4',
    'x-api-key': '3',
    authorization: 'Bearer 2',
    'x-litellm-api-key': '1'
  }
  t.same(presentedKeys(headers), ['1', '2', '3', '4', '5'])
})
