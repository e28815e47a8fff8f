import { unitColumns } from '../../schemas/billed-units.ts'
import { usageTotals, type Grouping } from '../../lib/usage/totals.ts'
import { usageRowOf } from '../support/usage.ts'
import { storeTest } from '../support/stores.ts'

storeTest(
  'totals are grouped as requested, with key names in place of ids',
  async (t, open) => {
    const { query, insertUsage } = await open()
    await query
      .insertInto('keys')
      .values({
        id: 'key-1',
        name: 'website',
        digest: 'x',
        endpoints: null,
        models: null,
        created_at_ms: 1,
        expires_at_ms: null,
        revoked_at_ms: 2
      })
      .execute()
    const atMs = Date.UTC(2025, 10, 21)
    const units = Object.fromEntries(unitColumns.map((column, index) => [column, index + 1]))
    const used = { at_ms: atMs, ...units }
    await insertUsage([
      usageRowOf(1, { ...used, model: 'a/1', provider: 'a', cost_nano_usd: 3000 }),
      usageRowOf(2, {
        ...used,
        model: 'a/1',
        provider: 'a',
        cost_nano_usd: 3000,
        key_id: 'configured:ci',
        outcome: 'client_closed',
        estimated: 1
      }),
      usageRowOf(3, { ...used, model: 'b/1', provider: 'b', cost_nano_usd: null, estimated: 1 }),
      usageRowOf(4, {
        at_ms: atMs + 86_400_000,
        outcome: 'error',
        prompt_tokens: null,
        completion_tokens: null,
        cost_nano_usd: 0
      })
    ])
    const sums = (rows: number) =>
      Object.fromEntries(Object.entries(units).map(([column, amount]) => [column, amount * rows]))
    const totalsBy = async (...by: Grouping[]) => (await usageTotals(query, 0, by)).totals
    t.strictSame(await totalsBy('key'), [
      {
        group: { key: 'website' },
        sums: {
          calls: 3,
          failed: 1,
          cancelled: 0,
          unpriced: 1,
          estimated: 0,
          ...sums(2),
          cost_nano_usd: 3000
        }
      },
      {
        group: { key: 'configured:ci' },
        sums: {
          calls: 1,
          failed: 0,
          cancelled: 1,
          unpriced: 0,
          estimated: 1,
          ...sums(1),
          cost_nano_usd: 3000
        }
      }
    ])
    t.same(
      (await totalsBy('provider', 'model')).map(({ group }) => group),
      [
        { provider: 'a', model: 'a/1' },
        { provider: 'b', model: 'b/1' },
        { provider: null, model: null }
      ]
    )
    t.same(
      (await totalsBy('day', 'endpoint')).map(({ group, sums }) => [group, sums.calls]),
      [
        [{ day: '2025-11-21', endpoint: 'chat' }, 3],
        [{ day: '2025-11-22', endpoint: 'chat' }, 1]
      ]
    )
    t.same(await usageTotals(query, atMs + 86_400_001, ['key']), { totals: [], cutBeforeMs: undefined })
  }
)

storeTest(
  'a limited number of names is listed, by cost, and the rest combined',
  async (t, open) => {
    const { query, insertUsage } = await open()
    const atMs = Date.now() - 60_000
    await insertUsage([
      ...Array.from({ length: 6 }, (_, number) =>
        usageRowOf(number, { at_ms: atMs, end_user: `user-${number}`, cost_nano_usd: 10 ** number })
      ),
      usageRowOf(6, { at_ms: atMs, end_user: '(other)', cost_nano_usd: 500_000 }),
      usageRowOf(7, { at_ms: atMs, cost_nano_usd: 700_000 })
    ])
    const costs = async (sinceMs: number, by: readonly Grouping[], top?: number): Promise<unknown[]> =>
      (await usageTotals(query, sinceMs, by, top)).totals.map(({ group, sums }) => [
        ...by.map(name => group[name]),
        sums.calls,
        sums.cost_nano_usd
      ])
    const listed = [[null, 1, 700_000], ['(other)', 6, 511_111], ['user-5', 1, 100_000]]
    for (const sinceMs of [0, atMs - 1]) t.same(await costs(sinceMs, ['end_user'], 3), listed)
    t.same(
      new Set(await costs(0, ['day', 'end_user'], 3)),
      new Set(listed.map(row => [new Date(atMs).toISOString().slice(0, 10), ...row])),
      'of each day'
    )
    t.equal((await costs(0, ['end_user'])).length, 8, 'all, where there are fewer')
    t.same(await costs(0, ['key', 'end_user'], 3), listed.map(row => ['key-1', ...row]), 'of records')
  }
)

storeTest('of two kinds of names only the first is limited; unnamed calls are "other"', async (t, open) => {
  const { query, insertUsage } = await open()
  await insertUsage([
    usageRowOf(1, { at_ms: Date.now() - 60_000, end_user: 'ada', tags: '["a"]', cost_nano_usd: 30 }),
    usageRowOf(2, { at_ms: Date.now() - 60_000, end_user: 'bob', tags: '["b"]', cost_nano_usd: 20 }),
    usageRowOf(3, { at_ms: Date.now() - 60_000, cost_nano_usd: 10 })
  ])
  const { totals } = await usageTotals(query, 0, ['tag', 'end_user'], 1)
  t.same(totals.map(({ group }) => [group.tag, group.end_user]), [
    ['a', 'ada'],
    ['b', '(other)'],
    [null, '(other)']
  ])
})
