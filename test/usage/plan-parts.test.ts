import { sql } from 'kysely'
import { attributionNames } from '../../schemas/admin/usage.ts'
import { dayMs, monthOf } from '../../lib/core/day.ts'
import { forgetEndUser } from '../../lib/stores/forget-end-user.ts'
import { planParts } from '../../lib/usage/plan-parts.ts'
import { randomFrom } from '../support/limits.ts'
import { storeTest } from '../support/stores.ts'
import { sumsOfRows, sumsOfStore } from '../support/summed-rows.ts'
import { usageRowOf } from '../support/usage.ts'
import type { CallOrigin } from '../../lib/usage/call-filter.ts'
import type { Database } from '../../lib/stores/database.ts'
import { usageParts, type PartGrouping } from '../../lib/usage/usage-parts.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

const firstMs = Date.UTC(2025, 9, 28)
const days = 8
const hourMs = dayMs / 24
const projects = new Map([
  ['key-1', 'default'],
  ['key-2', 'other'],
  ['configured:ci', 'default']
])

async function addKeys ({ query }: Database): Promise<void> {
  await query
    .insertInto('projects')
    .values({
      id: 'other',
      name: 'Other',
      models: null,
      stages: null,
      limits: null,
      created_at_ms: 1,
      archived_at_ms: null
    })
    .execute()
  for (const [id, project_id] of projects) {
    if (id.startsWith('configured:')) continue
    await query
      .insertInto('keys')
      .values({
        id,
        name: id,
        digest: id,
        endpoints: null,
        models: null,
        created_at_ms: 1,
        expires_at_ms: null,
        revoked_at_ms: null,
        project_id
      })
      .execute()
  }
}

function randomRow (random: (below: number) => number, number: number): UsageRow {
  const oneOf = <T>(values: readonly T[]): T => values[random(values.length)] as T // there is always one
  const tags = ['a', 'b', 'c'].filter(() => random(3) === 0)
  return usageRowOf(number, {
    at_ms: firstMs + random(days * dayMs),
    key_id: oneOf([...projects.keys()]),
    model: oneOf([null, 'a/1', 'b/1']),
    provider: oneOf([null, 'a']),
    endpoint: oneOf(['chat', 'chat', 'mirror']),
    outcome: oneOf(['ok', 'ok', 'error', 'interrupted', 'client_closed']),
    attempts: random(5) === 0 ? 0 : 1,
    prompt_tokens: random(9) === 0 ? null : random(1000),
    searches: random(5),
    cost_nano_usd: random(9) === 0 ? null : 1 + random(1e9),
    estimated: random(2),
    duration_ms: random(3000),
    first_byte_ms: random(3) === 0 ? null : random(100),
    end_user: oneOf([null, 'ada', 'bob', 'eve']),
    session: oneOf([null, 's1', 's2', 's3']),
    tags: tags.length === 0 ? null : JSON.stringify(tags)
  })
}

/** Returns the row of an open call with the final values of its end. */
function ended (row: UsageRow, random: (below: number) => number): UsageRow {
  return {
    ...row,
    outcome: 'ok',
    cost_nano_usd: random(1e9),
    duration_ms: row.duration_ms + 1,
    model: 'a/1'
  }
}

const groupings: ReadonlyArray<readonly PartGrouping[]> = [
  [],
  ['end_user'],
  ['session'],
  ['tag'],
  ['project'],
  ['day', 'tag'],
  ['project', 'end_user'],
  ['project', 'session', 'day'],
  ['tag', 'model'],
  ['project', 'tag', 'model', 'day'],
  ['end_user', 'tag'],
  ['session', 'key'],
  ['model', 'end_user'],
  ['key', 'model', 'provider', 'endpoint', 'day']
]
/** The listed names of every kind. */
const listings = [undefined, ['ada', 's1', 'a'], ['bob', 's2', 'b', 'c', ''], ['']]
const origins: readonly CallOrigin[] = [
  {},
  {},
  { projects: ['other'] },
  { projects: [] },
  { endUsers: ['ada'] },
  { sessions: ['s1', 's2'] },
  { tags: ['a'] },
  { tags: ['a', 'b'] },
  { models: ['a/1'] },
  { tags: ['a'], models: ['a/1'], projects: ['default'] },
  { keys: ['key-1'] },
  { endUsers: ['bob'], tags: ['c'] },
  { endUsers: ['nobody'] }
]

for (const seed of [1, 2, 3]) {
  storeTest(
    `every report equals the sum of its records, whatever happened to them: ${seed}`,
    async (t, open) => {
      const database = await open()
      await addKeys(database)
      const random = randomFrom(seed)
      let number = 0
      let keptFromMs = firstMs
      let bySums = 0
      const steps = [
        async () =>
          await database.insertUsage(
            Array.from({ length: 1 + random(60) }, () => randomRow(random, number++))
          ),
        async () =>
          await database.insertUsage(
            [
              ...(await database.query
                .selectFrom('usage')
                .selectAll()
                .where('outcome', '=', 'interrupted')
                .limit(20)
                .execute())
            ].map(row => ended(row, random))
          ),
        async () => {
          if (random(4) === 0) await forgetEndUser(database, ['ada', 'bob'][random(2)] ?? '')
        },
        async () => {
          if (random(6) !== 0) return
          // PostgreSQL drops only whole months, and both stores expire the sums of earlier days.
          keptFromMs += dayMs
          await database.query.deleteFrom('usage').where('at_ms', '<', keptFromMs).execute()
          await database.pruneUsage({ keepDays: 1, keepRows: 1_000_000 }, keptFromMs + dayMs + 1)
        }
      ]
      for (let round = 0; round < 40; round++) {
        await steps[random(steps.length)]?.()
        const rows = await database.query.selectFrom('usage').selectAll().execute()
        for (let question = 0; question < 6; question++) {
          const fromMs = keptFromMs + dayMs + (random(2) === 0 ? random(days) * dayMs : random(days * dayMs))
          const period = {
            fromMs,
            untilMs: fromMs + random(days * 24) * hourMs + random(2) * random(hourMs)
          }
          const asked = {
            period,
            origin: origins[random(origins.length)] ?? {},
            by: groupings[random(groupings.length)] ?? [],
            nowMs: firstMs + days * dayMs,
            listed: listings[random(listings.length)]
          }
          const { sums, plan } = await sumsOfStore(database, asked)
          if (plan.kind !== undefined) bySums++
          t.same(sums, sumsOfRows(rows, projects, asked), JSON.stringify(asked))
          t.equal(plan.cutBeforeMs, undefined)
        }
      }
      t.ok(bySums > 50, `${bySums} were read from sums`)
      const left = await database.query
        .selectFrom('name_rollups')
        .selectAll()
        .where(sums => sums.or([sums('calls', '<=', 0), sums('from_ms', '<', keptFromMs - dayMs)]))
        .execute()
      t.same(left, [], 'no sum is of no call, or of a day before those that are kept')
    }
  )
}

storeTest('queries by one kind of name and by day use sums, and all others use records', async (t, open) => {
  const { query } = await open()
  const period = { fromMs: firstMs, untilMs: firstMs + days * dayMs }
  const kindOf = async (
    origin: CallOrigin,
    by: readonly PartGrouping[],
    smallestMs = dayMs
  ): Promise<string | undefined> =>
    (await planParts(query, { period, origin, by, smallestMs, nowMs: period.untilMs })).kind
  for (const name of attributionNames) {
    t.equal(await kindOf({}, [name]), name)
    t.equal(await kindOf({ projects: ['a'] }, ['project', 'day', name]), name)
    t.equal(await kindOf({}, [name], hourMs), undefined, 'hours')
    for (const other of ['key', 'provider', 'endpoint'] as const) {
      t.equal(await kindOf({}, [name, other]), undefined, other)
    }
    for (const origin of [{ keys: ['a'] }, { providers: ['a'] }, { endpoints: ['a'] }]) {
      t.equal(await kindOf(origin, [name]), undefined, JSON.stringify(origin))
    }
  }
  t.equal(await kindOf({ models: ['a'] }, ['tag', 'model']), 'tag')
  t.equal(await kindOf({ models: ['a'] }, ['session']), undefined)
  t.equal(await kindOf({ tags: ['a'] }, ['model']), 'tag')
  t.equal(await kindOf({ tags: ['a', 'b'] }, []), undefined, 'a call may have both')
  t.equal(await kindOf({ tags: ['a'] }, ['tag']), undefined, 'its calls may have others')
  t.equal(await kindOf({ endUsers: ['a'] }, ['end_user']), 'end_user')
  t.equal(await kindOf({ endUsers: ['a'] }, ['session']), undefined)
  const from_ms = monthOf(firstMs)
  await query
    .insertInto('counted_names')
    .values({ kind: 'end_user', from_ms, project_id: 'b', name: '(other)' })
    .execute()
  t.equal(await kindOf({ endUsers: ['a'] }, ['end_user']), undefined, 'may be one of the others')
  t.equal(await kindOf({ endUsers: ['a'], projects: ['a', 'b'] }, ['end_user']), undefined)
  t.equal(await kindOf({ endUsers: ['a'], projects: ['a'] }, ['end_user']), 'end_user', 'of another project')
})

storeTest('a limited number of days and calls is read from records, newest first', async (t, open) => {
  const database = await open()
  const nowMs = firstMs + 40 * dayMs
  // Four calls at noon of each day, in an hour each.
  const rows = Array.from({ length: 160 }, (_, number) =>
    usageRowOf(number, {
      at_ms: firstMs + Math.floor(number / 4) * dayMs + (12 + (number % 4)) * hourMs,
      end_user: number % 2 === 0 ? 'ada' : 'bob',
      session: 's',
      tags: '["a"]',
      cost_nano_usd: 7 ** (number % 5)
    })
  )
  await database.insertUsage(rows)
  const bounds = { maxMs: 31 * dayMs, maxRecords: 1000 }
  const both = {
    period: { fromMs: firstMs, untilMs: nowMs },
    by: ['end_user', 'tag'] as const,
    origin: {},
    nowMs,
    bounds
  }
  const check = async (
    asked: Parameters<typeof sumsOfStore>[1],
    cutBeforeMs: number | undefined
  ): Promise<void> => {
    const { sums, plan } = await sumsOfStore(database, asked)
    t.equal(plan.cutBeforeMs, cutBeforeMs)
    t.same(
      sums,
      sumsOfRows(rows, projects, {
        ...asked,
        period: { ...asked.period, fromMs: cutBeforeMs ?? asked.period.fromMs }
      })
    )
  }
  await check(both, nowMs - 31 * dayMs)
  await check({ ...both, period: { fromMs: nowMs - 30 * dayMs, untilMs: nowMs } }, undefined)
  await check({ ...both, bounds: { ...bounds, maxRecords: 10 } }, nowMs - 3 * dayMs + 14 * hourMs)
  await check({ ...both, bounds: { ...bounds, maxRecords: 8 } }, nowMs - 3 * dayMs + 16 * hourMs)
  await check({ ...both, bounds: { ...bounds, maxRecords: 0 } }, nowMs - 8 * hourMs)
  await check(
    { ...both, origin: { endUsers: ['ada'] }, bounds: { ...bounds, maxRecords: 10 } },
    nowMs - 6 * dayMs + 14 * hourMs + 1
  )
  await check({ ...both, by: ['end_user'] }, undefined)
  await check(
    {
      ...both,
      by: ['end_user'],
      period: { fromMs: firstMs + 11 * hourMs, untilMs: nowMs },
      bounds: { ...bounds, maxRecords: 2 }
    },
    firstMs + 14 * hourMs
  )
})

storeTest('names added by a gateway of an earlier version during an upgrade are counted', async (t, open) => {
  const database = await open()
  const { query } = database
  const fromMs = Date.UTC(2025, 9, 30)
  await sql`update migrations set applied_at_ms = ${fromMs + 2 * dayMs - 1} where number = 38`.execute(query)
  await database.insertUsage(
    Array.from({ length: 40 }, (_, number) =>
      usageRowOf(number, {
        at_ms: fromMs + (number % 4) * dayMs,
        end_user: number % 5 === 0 ? null : `user-${number % 5}`,
        session: number % 5 === 0 ? null : `session-${number % 5}`,
        tags: number % 5 === 0 ? null : '["a","b"]'
      })
    )
  )
  const rows = await query.selectFrom('usage').selectAll().execute()
  // It writes no sums over all names, except for those of calls with tags.
  await query.deleteFrom('name_rollups').where('name', '=', '').where('kind', '<>', 'tagged')
    .where('from_ms', 'in', [fromMs + dayMs, fromMs + 2 * dayMs]).execute()
  for (const [by, listed] of [['end_user', 'user-1'], ['session', 'session-1'], ['tag', 'a']] as const) {
    const asked = {
      period: { fromMs, untilMs: fromMs + 4 * dayMs },
      origin: {},
      by: [by, 'day'] as const,
      nowMs: fromMs + 4 * dayMs
    }
    t.same((await sumsOfStore(database, asked)).sums, sumsOfRows(rows, new Map(), asked), by)
    const plan = { ...await planParts(query, { ...asked, smallestMs: dayMs }), listed: [listed] }
    const calls = await usageParts(query, plan, ['calls'])
      .select(sql<string | null>`${sql.ref(`record.${by}`)}`.as('name'))
      .select(sql<number>`sum(record.calls)`.as('calls'))
      .groupBy('name').execute()
    const found = new Map(calls.map(each => [each.name, each.calls]))
    t.equal(found.get(listed), by === 'tag' ? 32 : 8, `${by}: listed`)
    t.equal(found.get(''), 8, `${by}: none`)
  }
})
