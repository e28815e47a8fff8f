import t from 'tap'
import { dayMs } from '../../lib/core/day.ts'
import { planParts } from '../../lib/usage/plan-parts.ts'
import { piecesOf, spansUpTo, usageParts } from '../../lib/usage/usage-parts.ts'
import { hourMs } from '../../lib/stores/usage-rollups.ts'
import { storeTest } from '../support/stores.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import { usageRowOf } from '../support/usage.ts'

const midnight = Date.UTC(2025, 10, 21)

t.test('a period is read from the largest parts that fit, without a gap', async t => {
  const later = midnight + 365 * dayMs
  const shown = (fromMs: number, untilMs: number, smallestMs: number, nowMs = later): unknown[] =>
    piecesOf({ fromMs, untilMs }, spansUpTo(smallestMs), nowMs)
      .filter(piece => piece.fromMs < piece.untilMs)
      .map(piece => [(piece.fromMs - midnight) / hourMs, (piece.untilMs - midnight) / hourMs, piece.spanMs])
  t.same(shown(midnight - 1.5 * hourMs, midnight + 49.25 * hourMs, dayMs), [
    [-1.5, -1, undefined],
    [-1, 0, hourMs],
    [0, 48, dayMs],
    [48, 49, hourMs],
    [49, 49.25, undefined]
  ])
  t.same(shown(midnight - 1.5 * hourMs, midnight + 49.25 * hourMs, hourMs), [
    [-1.5, -1, undefined],
    [-1, 49, hourMs],
    [49, 49.25, undefined]
  ])
  t.same(shown(midnight + hourMs, midnight + 5 * hourMs, dayMs), [[1, 5, hourMs]])
  t.same(shown(midnight + 0.25 * hourMs, midnight + 0.5 * hourMs, dayMs), [[0.25, 0.5, undefined]])
  t.same(
    shown(midnight, midnight + 1.5 * hourMs, hourMs, midnight + 1.5 * hourMs),
    [[0, 2, hourMs]],
    'the present hour is read from its rollup'
  )
  t.same(
    shown(midnight - hourMs, midnight + 0.5 * hourMs, 60_000),
    [[-1, 0.5, undefined]],
    'minutes are in records alone'
  )
  t.same(shown(midnight, midnight, hourMs), [])
})

storeTest('model lists, dry runs and cached answers are in no sum', async (t, open) => {
  const { query, insertUsage } = await open()
  const rows: ReadonlyArray<Partial<UsageRow>> = [
    { endpoint: 'models', attempts: 0, cost_nano_usd: 0 },
    { endpoint: 'models', attempts: 0, outcome: 'error', status: 403 },
    { attempts: 0, cost_nano_usd: 0 },
    { attempts: 0, cost_nano_usd: 5 },
    { attempts: 0, outcome: 'error', status: 429, cost_nano_usd: 0 },
    { attempts: 1 }
  ]
  await insertUsage(rows.map((row, number) => usageRowOf(number, { at_ms: midnight + number, ...row })))
  for (const smallestMs of [60_000, hourMs, dayMs]) {
    const parts = await usageParts(
      query,
      await planParts(query, {
        period: { fromMs: midnight, untilMs: midnight + dayMs },
        origin: {},
        by: [],
        smallestMs,
        nowMs: Date.now()
      })
    )
      .select(({ fn }) => [
        fn.sum<number>('record.calls').as('calls'),
        fn.sum<number>('record.errors').as('errors')
      ])
      .executeTakeFirstOrThrow()
    t.same(parts, { calls: 3, errors: 1 }, `${smallestMs}`)
  }
  t.equal((await query.selectFrom('usage').select('id').execute()).length, 6, 'each has its record')
})

storeTest('the parts of a period add up to its records, and outlive them', async (t, open) => {
  const { query, insertUsage } = await open()
  await insertUsage(
    Array.from({ length: 400 }, (_, number) =>
      usageRowOf(number, {
        at_ms: midnight + (number * hourMs) / 4,
        key_id: `key-${number % 2}`,
        model: number % 4 === 0 ? null : 'a/1'
      })
    )
  )
  const calls = async (
    fromMs: number,
    untilMs: number,
    smallestMs: number,
    keys?: string[],
    models?: string[]
  ): Promise<number | null> =>
    (
      await usageParts(
        query,
        await planParts(query, {
          period: { fromMs, untilMs },
          origin: { keys, models },
          by: [],
          smallestMs,
          nowMs: Date.now()
        })
      )
        .select(({ fn }) => fn.sum<number | null>('record.calls').as('calls'))
        .executeTakeFirstOrThrow()
    ).calls
  for (const smallestMs of [hourMs, dayMs]) {
    t.equal(await calls(0, midnight + 1000 * dayMs, smallestMs), 400)
    t.equal(await calls(midnight + hourMs / 2, midnight + 70.75 * hourMs, smallestMs), 281)
    t.equal(await calls(midnight + hourMs / 2, midnight + 70.75 * hourMs, smallestMs, ['key-1']), 140)
    t.equal(await calls(midnight + hourMs / 4, midnight + 30 * hourMs, smallestMs, ['key-0'], ['a/1']), 30)
    t.equal(await calls(0, midnight + 1000 * dayMs, smallestMs, []), null)
  }
  await query.deleteFrom('usage').execute()
  t.equal(await calls(midnight, midnight + 48 * hourMs, dayMs), 192)
})
