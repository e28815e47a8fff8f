import { dayMs } from '../../lib/core/day.ts'
import { endUsersSince, prunePartySpending } from '../../lib/stores/party-spending.ts'
import { usedSince } from '../../lib/usage/spending.ts'
import { storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'

const month = Date.UTC(2026, 4, 1)

storeTest(
  'the end users of a project are those that have spent something since a moment',
  async (t, open) => {
    const { query, insertUsage } = await open()
    const rowOf = (number: number, atMs: number, party: string) =>
      usageRowOf(number, { at_ms: atMs, parties: JSON.stringify([party]) })
    await insertUsage([
      rowOf(0, month + 1, 'end_user:p/now'),
      rowOf(1, month - 1, 'end_user:p/before'),
      rowOf(2, month + 1, 'end_user:pq/other'),
      rowOf(3, month + 1, 'tag:p/tag')
    ])
    t.same(await endUsersSince(query, 'p', month, 5), ['now'])
  }
)

storeTest('sums of end users go after 400 days, and those of tags keep their days', async (t, open) => {
  const database = await open()
  const parties = JSON.stringify(['tag:a', 'end_user:p/x'])
  await database.insertUsage(
    [0, 399, 401].map((day, number) =>
      usageRowOf(number, { at_ms: day * dayMs, cost_nano_usd: 10 ** number, parties })
    )
  )
  await prunePartySpending(database.query, 800 * dayMs)
  const left = await database.query
    .selectFrom('party_spending')
    .select(['span_ms', 'party', 'from_ms'])
    .orderBy('from_ms')
    .orderBy('span_ms')
    .orderBy('party')
    .execute()
  t.same(
    left.map(({ span_ms: span, party, from_ms: ms }) => [span / 60_000, party, ms / dayMs]),
    [
      [1440, 'tag:a', 0],
      [1440, 'tag:a', 399],
      [15, 'end_user:p/x', 401],
      [15, 'tag:a', 401],
      [1440, 'end_user:p/x', 401],
      [1440, 'tag:a', 401]
    ]
  )
  t.equal(await usedSince(database.query, 'nanoUsd', 'tag:a', 0, 800 * dayMs), 111)
})
