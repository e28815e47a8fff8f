import { CompiledQuery, sql } from 'kysely'
import { dayMs } from '../../lib/core/day.ts'
import { isSqlite } from '../../lib/stores/database.ts'
import { endUsersOfMonth, endUsersQuery, prunePartySpending } from '../../lib/stores/party-spending.ts'
import { usedBetween } from '../../lib/usage/spending.ts'
import { storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'

const month = Date.UTC(2026, 4, 1)

storeTest(
  'only end users of a project with spending in the month are read',
  async (t, open) => {
    const database = await open()
    const { query, insertUsage } = database
    const rowOf = (number: number, atMs: number, party: string) =>
      usageRowOf(number, { at_ms: atMs, parties: JSON.stringify([party]) })
    await insertUsage([
      rowOf(0, month + 1, 'end_user:p/now'),
      rowOf(1, month - 1, 'end_user:p/before'),
      rowOf(2, month + 1, 'end_user:pq/other'),
      rowOf(3, month + 1, 'end_user:p-q/other'),
      rowOf(4, month + 1, 'tag:p/tag'),
      rowOf(5, month + 30 * dayMs, 'end_user:p/Last'),
      rowOf(6, month + 31 * dayMs, 'end_user:p/after')
    ])
    t.same((await endUsersOfMonth(query, 'p', month, 5)).toSorted(), ['Last', 'now'])
    t.equal((await endUsersOfMonth(query, 'p', month, 1)).length, 1)
    // a table of few rows is read faster without an index
    const plan = await query.transaction().execute(async transaction => {
      const { sql: text, parameters } = endUsersQuery(transaction, 'p', month).compile()
      if (!isSqlite(database)) await sql`set local enable_seqscan = off`.execute(transaction)
      const explain = isSqlite(database) ? 'explain query plan' : 'explain'
      return (await transaction.executeQuery(CompiledQuery.raw(`${explain} ${text}`, [...parameters]))).rows
    })
    t.match(JSON.stringify(plan), isSqlite(database)
      ? /party_spending_by_age \(span_ms=\? AND from_ms=\? AND party>\? AND party<\?\)/
      : /Index Cond: .*span_ms = .*from_ms = .*party > 'end_user:p\/'.*party < 'end_user:p0'/)
  }
)

storeTest('sums of end users expire after 400 days, and those of tags keep their days', async (t, open) => {
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
  t.equal(await usedBetween(database.query, 'nanoUsd', 'tag:a', 0, 800 * dayMs), 111)
})
