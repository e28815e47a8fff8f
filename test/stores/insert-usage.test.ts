import { usedBetween } from '../../lib/usage/spending.ts'
import { dayMs, dayOf } from '../../lib/core/day.ts'
import { Durations } from '../../lib/stores/percentiles.ts'
import { retryWhenLocked } from '../../lib/stores/retry-when-locked.ts'
import { hourMs, type RollupSum } from '../../lib/stores/usage-rollups.ts'
import { textColumns, usageColumns } from '../../lib/stores/usage-columns.ts'
import { storeTest } from '../support/stores.ts'
import { ticksDuring } from '../support/ticks-during.ts'
import { usageRowOf } from '../support/usage.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

const morning = Date.UTC(2025, 10, 21, 8)

storeTest(
  'rows are written unchanged, once each, even if some exist already',
  async (t, open) => {
    const store = await open()
    const rows = Array.from({ length: 60 }, (_, number) =>
      usageRowOf(number, {
        at_ms: morning + number,
        model: number % 5 === 4 ? `m-${number % 11}` : 'a/1',
        prompt_tokens: number,
        cached_tokens: number % 3 === 0 ? null : number,
        searches: number % 13 === 0 ? 1 : null
      })
    )
    t.equal(await store.insertUsage(rows.slice(20, 23)), 3)
    // Of rows with the same id the first counts, even if the others differ.
    const earlier = rows.map(row => ({ ...row, searches: null, outcome: 'interrupted' as const }))
    t.equal(await store.insertUsage([...rows, ...earlier]), 57)
    t.equal(await store.insertUsage(rows), 0)
    const stored = await store.query.selectFrom('usage').selectAll().orderBy('at_ms').execute()
    t.strictSame(
      stored.map(row => ({ ...row })),
      rows
    )
    const { calls } = await store.query
      .selectFrom('usage_rollups')
      .where('span_ms', '=', hourMs)
      .select(({ fn }) => fn.sum<number>('calls').as('calls'))
      .executeTakeFirstOrThrow()
    t.equal(calls, 60)
  }
)

storeTest('every column is written unchanged', async (t, open) => {
  const store = await open()
  const rows = usageColumns.filter(column => column !== 'id' && column !== 'at_ms').map((column, number) =>
    usageRowOf(number, { [column]: textColumns.has(column) ? '["other"]' : 7 }))
  t.equal(await store.insertUsage(rows), rows.length)
  const stored = await store.query.selectFrom('usage').selectAll().orderBy('at_ms').execute()
  t.strictSame(stored.map(row => ({ ...row })), rows)
})

storeTest('the cost of rows is added once to their day and key', async (t, open) => {
  const store = await open()
  const rows = [
    usageRowOf(1, { at_ms: morning, cost_nano_usd: 5 }),
    usageRowOf(2, { at_ms: morning + 1, cost_nano_usd: 7 }),
    usageRowOf(3, { at_ms: morning + dayMs, cost_nano_usd: 11 }),
    usageRowOf(4, { at_ms: morning, key_id: 'key-2', cost_nano_usd: 13 }),
    usageRowOf(5, { at_ms: morning, cost_nano_usd: null }),
    usageRowOf(6, { at_ms: morning, cost_nano_usd: 0 })
  ]
  await store.insertUsage(rows)
  await store.insertUsage(rows.slice(0, 2))
  const spent = async (key: string, fromMs: number, untilMs: number): Promise<number> =>
    await usedBetween(store.query, 'nanoUsd', key, fromMs, untilMs)
  t.same(
    [
      await spent('key-1', 0, dayOf(morning) + dayMs),
      await spent('key-1', 0, dayOf(morning) + 2 * dayMs),
      await spent('key-2', 0, Infinity)
    ],
    [12, 23, 13]
  )
  t.equal((await store.query.selectFrom('usage').select('id').execute()).length, 6)
})

storeTest('an invalid row rolls back the rows before it and their sums', async (t, open) => {
  const store = await open()
  // the types do not allow it
  await t.rejects(store.insertUsage([usageRowOf(1), usageRowOf(2, { endpoint: null as unknown as string })]))
  t.equal(await usedBetween(store.query, 'nanoUsd', 'key-1', 0, Date.now()), 0)
})

storeTest('rows of many keys are written in several turns, each once', async (t, open) => {
  const store = await open()
  const rows = Array.from({ length: 200 }, (_, number) =>
    usageRowOf(number, { at_ms: morning, key_id: `key-${number % 120}`, cost_nano_usd: 1 })
  )
  const turns = await ticksDuring(async () => {
    t.equal(await store.insertUsage(rows), 200)
  })
  t.ok(turns >= 2, 'others have turns meanwhile')
  t.equal(await store.insertUsage(rows), 0)
  const { calls } = await store.query
    .selectFrom('usage_rollups')
    .where('span_ms', '=', hourMs)
    .select(({ fn }) => fn.sum<number>('calls').as('calls'))
    .executeTakeFirstOrThrow()
  t.equal(calls, 200)
})

storeTest(
  'rows are added once to the sums of their hours and days, also by concurrent writers',
  async (t, open) => {
    const [one, other] = [await open(), await open()]
    const row = (number: number, parts: Partial<UsageRow>): UsageRow =>
      usageRowOf(number, { model: 'a/1', provider: 'a', cost_nano_usd: 7, prompt_tokens: 3, ...parts })
    const rows = Array.from({ length: 300 }, (_, number) =>
      row(number, {
        at_ms: morning + number * 60_000,
        key_id: `key-${number % 3}`,
        duration_ms: 10 * number,
        first_byte_ms: number % 2 === 0 ? 250 : null
      })
    )
    const others = [
      row(300, {
        at_ms: morning,
        outcome: 'error',
        cost_nano_usd: null,
        model: null,
        provider: null,
        key_id: 'key-0'
      }),
      row(301, {
        at_ms: morning + 5,
        outcome: 'client_closed',
        estimated: 1,
        key_id: 'key-0',
        model: 'x'.repeat(5000),
        cached_tokens: 2
      })
    ]
    const all = [...rows, ...others]
    // Each row is written by two writers, in different batches.
    await Promise.all(
      [one, other].flatMap((store, writer) =>
        Array.from(
          { length: 8 },
          async (_, batch) =>
            await retryWhenLocked(
              async () => await store.insertUsage(all.filter((_, index) => (index + writer) % 8 === batch))
            )
        )
      )
    )
    const spans = await one.query
      .selectFrom('usage_rollups')
      .selectAll()
      .orderBy('span_ms')
      .orderBy('from_ms')
      .orderBy('key_id')
      .orderBy('model')
      .execute()
    for (const spanMs of [hourMs, dayMs]) {
      const rollups = spans.filter(({ span_ms: ms }) => ms === spanMs)
      const sum = (name: RollupSum): number => rollups.reduce((total, rollup) => total + rollup[name], 0)
      t.same(
        [sum('calls'), sum('errors'), sum('cancelled'), sum('estimated_calls'), sum('unpriced_calls')],
        [302, 1, 1, 1, 1]
      )
      t.same([sum('cost_nano_usd'), sum('prompt_tokens'), sum('cached_tokens')], [301 * 7, 302 * 3, 2])
      const durations = new Durations()
      for (const { latencies } of rollups) durations.addText(latencies ?? '')
      t.match(durations.percentiles(), { p50: 1450, p95: 2900, p99: 2900 })
    }
    t.match(
      spans.filter(({ span_ms: ms, from_ms: fromMs }) => ms === hourMs && fromMs === morning),
      [
        { key_id: 'key-0', model: '', provider: '', calls: 1, latencies: null, first_bytes: null },
        { key_id: 'key-0', model: 'a/1', provider: 'a', calls: 20, first_bytes: '57:10' },
        { key_id: 'key-0', model: 'x'.repeat(200) },
        { key_id: 'key-1' },
        { key_id: 'key-2' }
      ]
    )
  }
)

/** The row of an open call, as in the journal. */
function openRow (row: UsageRow, parts: Partial<UsageRow> = {}): UsageRow {
  return {
    ...row,
    outcome: 'interrupted',
    status: null,
    completion_tokens: null,
    estimated: 1,
    cost_nano_usd: 10,
    duration_ms: 0,
    first_byte_ms: null,
    ...parts
  }
}

storeTest(
  'the row of an open call is replaced by its final row, including its part of the sums',
  async (t, open) => {
    const store = await open()
    const ended = Array.from({ length: 25 }, (_, number) =>
      usageRowOf(number, {
        at_ms: morning + number,
        model: 'a/1',
        provider: 'a',
        cost_nano_usd: 5000,
        completion_tokens: 500,
        duration_ms: 90,
        first_byte_ms: 20
      })
    )
    const at = (number: number): UsageRow => ended[number] ?? usageRowOf(number)
    // The third was sent to another model first; in the end that model's sums have no call.
    const opened = [
      openRow(at(3)),
      openRow(at(12), { model: 'b/2' }),
      openRow(at(17), { cost_nano_usd: null })
    ]
    t.equal(await store.insertUsage(opened), 3)
    t.equal(await usedBetween(store.query, 'nanoUsd', 'key-1', 0, Infinity), 20)
    t.equal(await store.insertUsage([...ended, ...opened]), 25)
    t.equal(await store.insertUsage(opened), 0, 'the other way round nothing changes')
    t.equal(await store.insertUsage(ended), 0)
    const stored = await store.query.selectFrom('usage').selectAll().orderBy('at_ms').execute()
    t.strictSame(
      stored.map(row => ({ ...row })),
      ended
    )
    t.equal(await usedBetween(store.query, 'nanoUsd', 'key-1', 0, Infinity), 25 * 5000)
    const sums = {
      key_id: 'key-1',
      model: 'a/1',
      provider: 'a',
      endpoint: 'chat',
      calls: 25,
      errors: 0,
      cancelled: 0,
      estimated_calls: 0,
      unpriced_calls: 0,
      prompt_tokens: 75,
      completion_tokens: 12_500,
      cost_nano_usd: 125_000,
      latencies: '43:25',
      first_bytes: '20:25'
    }
    const rollups = await store.query.selectFrom('usage_rollups').selectAll().orderBy('span_ms').execute()
    t.equal(rollups.length, 2, 'one for the hour and one for the day')
    t.match(rollups, [
      { ...sums, span_ms: hourMs, from_ms: morning },
      { ...sums, span_ms: dayMs, from_ms: dayOf(morning) }
    ])
  }
)

storeTest('of two rows of an open call the later counts, in whichever order they arrive', async (t, open) => {
  const store = await open()
  for (const key of ['key-1', 'key-2']) {
    const begun = openRow(usageRowOf(1, { id: `row of ${key}`, key_id: key, at_ms: morning }))
    const known = { ...begun, completion_tokens: 70, cost_nano_usd: 700, duration_ms: 600 }
    for (const row of key === 'key-1' ? [begun, known] : [known, begun]) await store.insertUsage([row])
    t.match(
      await store.query.selectFrom('usage').selectAll().where('key_id', '=', key).execute(),
      [{ completion_tokens: 70 }],
      key
    )
    t.equal(await usedBetween(store.query, 'nanoUsd', key, 0, Infinity), 700)
  }
  const { calls, errors } = await store.query
    .selectFrom('usage_rollups')
    .where('span_ms', '=', dayMs)
    .select(({ fn }) => [fn.sum<number>('calls').as('calls'), fn.sum<number>('errors').as('errors')])
    .executeTakeFirstOrThrow()
  t.same([calls, errors], [2, 2])
})

storeTest('concurrent writers that replace the row of an open call count it once', async (t, open) => {
  const store = await open()
  const writers = [store, await open(), await open(), await open()]
  const ended = Array.from({ length: 50 }, (_, number) =>
    usageRowOf(number, { at_ms: morning + number, model: `m-${number % 3}`, cost_nano_usd: 5000 })
  )
  await store.insertUsage(ended.map(row => openRow(row, { model: 'm-0' })))
  const known = ended.map(row => openRow(row, { duration_ms: 700, cost_nano_usd: 70 }))
  await Promise.all(
    writers.map(
      async (writer, number) =>
        await retryWhenLocked(async () => await writer.insertUsage(number % 2 === 0 ? ended : known))
    )
  )
  t.equal(await usedBetween(store.query, 'nanoUsd', 'key-1', 0, Infinity), 50 * 5000)
  const rollups = await store.query
    .selectFrom('usage_rollups')
    .select(['model', 'calls', 'errors', 'cost_nano_usd'])
    .where('span_ms', '=', hourMs)
    .orderBy('model')
    .execute()
  t.same(
    rollups.map(({ model, calls, errors, cost_nano_usd: cost }) => [model, calls, errors, cost]),
    [
      ['m-0', 17, 0, 85_000],
      ['m-1', 17, 0, 85_000],
      ['m-2', 16, 0, 80_000]
    ]
  )
})

storeTest('a row with text that no store can hold is replaced like any other', async (t, open) => {
  const store = await open()
  const row = usageRowOf(1, { at_ms: morning, requested_model: 'a\0b' })
  await store.insertUsage([openRow(row)])
  t.equal(await store.insertUsage([row]), 1)
  t.match(await store.query.selectFrom('usage').selectAll().execute(), [{ outcome: 'ok' }])
})
