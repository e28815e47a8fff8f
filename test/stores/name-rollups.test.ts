import { nameBounds, otherNames } from '../../lib/stores/name-rollups.ts'
import { forgetEndUser } from '../../lib/stores/forget-end-user.ts'
import { rollupSums } from '../../lib/stores/usage-rollups.ts'
import { dayMs } from '../../lib/core/day.ts'
import { storeTest } from '../support/stores.ts'
import { sumsOfRows, sumsOfStore } from '../support/summed-rows.ts'
import { usageRowOf } from '../support/usage.ts'
import type { AttributionName } from '../../schemas/admin/usage.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

const filters = { end_user: 'endUsers', session: 'sessions', tag: 'tags' } as const
const sumColumns = [...rollupSums, 'latencies', 'first_bytes'] as const
const firstMs = Date.UTC(2025, 9, 30)

async function insertAll ({ insertUsage, maxBatchRows }: Database, rows: readonly UsageRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += maxBatchRows) {
    await insertUsage(rows.slice(from, from + maxBatchRows))
  }
}

async function callsBy (
  database: Database,
  by: AttributionName,
  fromMs: number
): Promise<ReadonlyMap<string, number>> {
  const period = { fromMs, untilMs: fromMs + dayMs }
  const { sums, plan } = await sumsOfStore(database, { period, origin: {}, by: [by], nowMs: period.untilMs })
  if (plan.kind !== by) throw new Error('read from records')
  return new Map(Object.entries(sums).map(([name, amounts]) => [name, (amounts as number[])[0] ?? 0]))
}

for (const kind of ['end_user', 'session', 'tag'] as const) {
  const { maxNames } = nameBounds[kind]
  const perRow = kind === 'tag' ? 20 : 1
  const named = (names: readonly string[]): Partial<UsageRow> =>
    kind === 'tag' ? { tags: JSON.stringify(names) } : { [kind]: names[0] }

  storeTest(
    `a limited number of ${kind} names have their own sums, new ones beyond that share one`,
    async (t, open) => {
      const database = await open()
      const row = (number: number, prefix: string, atMs = firstMs): UsageRow =>
        usageRowOf(number, {
          id: `${prefix}-${number}`,
          at_ms: atMs + number,
          cost_nano_usd: 1,
          ...named(Array.from({ length: perRow }, (_, index) => `${prefix}-${number * perRow + index}`))
        })
      await insertAll(
        database,
        Array.from({ length: maxNames / perRow }, (_, number) => row(number, 'first'))
      )
      t.equal((await callsBy(database, kind, firstMs)).size, maxNames)
      const late = [1, 2, 3].map(number => ({ ...row(number, 'late'), outcome: 'interrupted' as const }))
      await database.insertUsage([...late, usageRowOf(0, { ...row(7, 'first'), id: 'again' })])
      const calls = await callsBy(database, kind, firstMs)
      t.equal(calls.size, maxNames + 1)
      t.equal(calls.get(otherNames), 3, 'a call counts once there, whatever tags it has')
      t.equal(calls.get(`first-${7 * perRow}`), 2)
      t.equal(calls.get(`late-${perRow}`), undefined)

      // A row that replaces another, or has fewer other names, still counts in the same place.
      await database.insertUsage([{ ...row(1, 'late'), duration_ms: 5 }])
      t.equal((await callsBy(database, kind, firstMs)).get(otherNames), 3)
      const rows = await database.query.selectFrom('usage').selectAll().execute()
      const asked = {
        period: { fromMs: firstMs, untilMs: firstMs + dayMs },
        origin: { [filters[kind]]: [`late-${perRow}`] },
        by: [],
        nowMs: firstMs + dayMs
      }
      const { sums, plan } = await sumsOfStore(database, asked)
      t.equal(plan.kind, undefined, 'a filter may be by one of the others')
      t.same(sums, sumsOfRows(rows, new Map(), asked))

      await database.insertUsage([row(1, 'late', firstMs + 3 * dayMs)])
      t.equal(
        (await callsBy(database, kind, firstMs + 3 * dayMs)).get(`late-${perRow}`),
        1,
        'another day, and another month'
      )
    }
  )
}

storeTest(
  'a caller who chooses the reserved name of the others corrupts no sums',
  async (t, open) => {
    const database = await open()
    const rowOf = (number: number, name: string): UsageRow => usageRowOf(number, {
      at_ms: firstMs + number, end_user: name, session: name, tags: JSON.stringify([name])
    })
    await database.insertUsage([rowOf(1, otherNames)])
    await database.insertUsage([rowOf(2, 'ada'), rowOf(3, otherNames)])
    for (const kind of ['end_user', 'session', 'tag'] as const) {
      const calls = await callsBy(database, kind, firstMs)
      t.same([calls.get(otherNames), calls.get('ada')], [2, 1], kind)
      for (const [name, count] of [[otherNames, 2], ['ada', 1]] as const) {
        const period = { fromMs: firstMs, untilMs: firstMs + dayMs }
        const { sums, plan } = await sumsOfStore(database, {
          period, origin: { [filters[kind]]: [name] }, by: [], nowMs: period.untilMs
        })
        t.equal(plan.kind, kind, 'by sums')
        t.match(sums, { '': [count] })
      }
    }
    await forgetEndUser(database, otherNames)
    t.equal((await callsBy(database, 'end_user', firstMs)).get('ada'), 1)
    await database.query
      .insertInto('name_rollups')
      .columns(['kind', 'from_ms', 'project_id', 'name', 'model', ...sumColumns])
      .expression(sums => sums.selectFrom('name_rollups').select(row => [
        'kind', 'from_ms', 'project_id', row.val(otherNames).as('name'), 'model', ...sumColumns
      ]).where('kind', '=', 'end_user').where('name', '=', 'ada'))
      .execute()
    await forgetEndUser(database, otherNames)
    t.equal((await callsBy(database, 'end_user', firstMs)).get(otherNames), 1, 'sums of others stay')
  }
)

storeTest(
  'a forgotten name leaves room, unless its month was full',
  async (t, open) => {
    const database = await open()
    const row = (number: number): UsageRow =>
      usageRowOf(number, {
        at_ms: firstMs + number,
        end_user: `user-${number}`,
        session: `session-${number}`,
        tags: `["tag-${number}"]`
      })
    const names = async (): Promise<string[]> =>
      (await database.query.selectFrom('counted_names').select('name').orderBy('name').execute()).map(
        ({ name }) => name
      )
    await database.insertUsage([row(1), row(2), { ...row(3), session: 'session-2' }])
    await forgetEndUser(database, 'user-2')
    t.same(
      await names(),
      ['session-1', 'session-2', 'tag-1', 'tag-3', 'user-1', 'user-3'],
      'a session of another one stays'
    )
    await database.query
      .insertInto('counted_names')
      .values({ kind: 'end_user', from_ms: Date.UTC(2025, 9), project_id: 'default', name: otherNames })
      .execute()
    await forgetEndUser(database, 'user-1')
    await database.insertUsage([row(4)])
    t.same([...(await callsBy(database, 'end_user', firstMs)).keys()].toSorted(), ['', otherNames, 'user-3'])
  }
)

storeTest('sums of an end user whose records were deleted are forgotten too', async (t, open) => {
  const database = await open()
  await database.insertUsage([
    usageRowOf(1, { at_ms: firstMs, end_user: 'ada' }),
    usageRowOf(2, { at_ms: firstMs, end_user: 'bob' })
  ])
  await database.query.deleteFrom('usage').execute()
  await forgetEndUser(database, 'ada')
  t.same(Object.fromEntries(await callsBy(database, 'end_user', firstMs)), { '': 1, bob: 1 })
})
