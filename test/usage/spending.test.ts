import t from 'tap'
import { dayMs } from '../../lib/core/day.ts'
import { periodAt, type Window } from '../../lib/limits/windows.ts'
import { quarterMs } from '../../lib/stores/party-spending.ts'
import { isSummedUnit, usedBetween } from '../../lib/usage/spending.ts'
import { usageRowOf } from '../support/usage.ts'
import { storeTest } from '../support/stores.ts'
import { randomFrom } from '../support/limits.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

storeTest(
  'spending is that of one key, from the first moment inclusive to the last exclusive',
  async (t, open) => {
    const database = await open()
    await database.insertUsage(
      [0, 1, 2].map(day => usageRowOf(day, { at_ms: day * dayMs + 5, cost_nano_usd: 10 ** day }))
    )
    const spent = async (fromMs: number, untilMs: number, key = 'key-1'): Promise<number> =>
      await usedBetween(database.query, 'nanoUsd', key, fromMs, untilMs)
    t.equal(await spent(0, 3 * dayMs), 111)
    t.equal(await spent(dayMs, dayMs + 5), 0)
    t.equal(await spent(dayMs, dayMs + 6), 10)
    t.equal(await spent(0, Infinity), 111)
    t.equal(await spent(dayMs, 3 * dayMs), 110)
    t.equal(await spent(5 * dayMs, 6 * dayMs), 0)
    t.equal(await spent(0, 3 * dayMs, 'other'), 0)
  }
)

storeTest('images are added up by day, over all keys of a project', async (t, open) => {
  const database = await open()
  await database.insertUsage(
    [0, 1, 2].map(day => usageRowOf(day, { at_ms: day * dayMs + 5, images: 10 ** day }))
  )
  t.equal(await usedBetween(database.query, 'images', 'key-1', dayMs, 3 * dayMs), 110)
  t.equal(await usedBetween(database.query, 'images', 'other', dayMs, 3 * dayMs), 0)
})

storeTest(
  'the sum of a partial day reads its hours, and of a partial hour its records',
  async (t, open) => {
    const database = await open()
    const [hour, minute] = [3_600_000, 60_000]
    const times = [
      dayMs + 17 * hour,
      dayMs + 18 * hour + 29 * minute,
      dayMs + 18 * hour + 30 * minute,
      dayMs + 19 * hour,
      dayMs + 23 * hour,
      2 * dayMs,
      3 * dayMs + hour
    ]
    await database.insertUsage(
      times.map((atMs, number) =>
        usageRowOf(number, { at_ms: atMs, cost_nano_usd: 10 ** number, images: 10 ** number })
      )
    )
    for (const unit of ['nanoUsd', 'images'] as const) {
      t.equal(
        await usedBetween(database.query, unit, 'key-1', dayMs + 18 * hour, 3 * dayMs),
        111_110,
        'whole hours'
      )
      t.equal(
        await usedBetween(database.query, unit, 'key-1', dayMs + 18 * hour + 30 * minute, 3 * dayMs),
        111_100,
        'half an hour'
      )
      const used = async (fromMs: number, endMs: number): Promise<number> =>
        await usedBetween(database.query, unit, 'key-1', fromMs, endMs)
      t.equal(await used(2 * dayMs, 3 * dayMs), 100_000, 'days')
      t.equal(await used(dayMs, dayMs + 18.5 * hour), 11, 'until half past')
      t.equal(await used(dayMs + 18.5 * hour, dayMs + 19 * hour), 100)
    }
  }
)

t.test('the ledger adds up money and billed units, but not per-minute counts', async t => {
  t.same(['nanoUsd', 'images', 'audio_ms', 'requests', 'tokens', 'calls'].map(isSummedUnit), [
    true,
    true,
    true,
    false,
    false,
    false
  ])
})

/** Around a clock change in Berlin, and one of half an hour on Lord Howe Island. */
const changes = [Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 3, 4, 15), Date.UTC(2026, 9, 25, 1)]
const windows: readonly Window[] = [
  ...(['hour', 'day', 'week', 'month', 'total'] as const).flatMap(per =>
    ['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'Australia/Lord_Howe'].map(timeZone => ({ per, timeZone }))
  ),
  { everyMs: 7 * 3_600_000, fromMs: Date.UTC(2026, 0, 1, 3, 7, 11) },
  { everyMs: 45_000, fromMs: Date.UTC(2026, 0, 1) },
  { everyMs: 45 * 60_000, fromMs: Date.UTC(2026, 0, 1, 3, 15) }
]
const named = ['tag:a', 'tag:ab', 'end_user:p/x', 'model:smart']

storeTest(
  "a party's spending in a window is the sum of its records there, for any clock, zone and order",
  async (t, open) => {
    const database = await open()
    const random = randomFrom(7)
    const rows: UsageRow[] = []
    for (const [index, change] of changes.entries()) {
      const owner = `user-${index}`
      await database.query
        .insertInto('keys')
        .values({
          id: `key-${index}`,
          name: `key ${index}`,
          digest: `d${index}`,
          owner_id: owner,
          created_at_ms: 0,
          endpoints: null,
          models: null,
          mcp_servers: null,
          mcp_urls: null,
          provider_objects: 0,
          stages: null,
          limits: null,
          expires_at_ms: null,
          revoked_at_ms: null,
          hint: null,
          created_by: null,
          temporary: null,
          set_by_admin: '[]',
          previous_digest: null,
          previous_until_ms: null
        })
        .execute()
      for (let number = 0; number < 60; number++) {
        const near = [60_000, 3_600_000, dayMs, 20 * dayMs][random(4)] ?? dayMs
        const parties = named.filter(() => random(2) === 0)
        rows.push(
          usageRowOf(rows.length, {
            at_ms: change + random(2 * near) - near,
            key_id: `key-${index}`,
            cost_nano_usd: random(1000),
            parties: parties.length === 0 ? null : JSON.stringify(parties)
          })
        )
      }
    }
    // Some are first written as rows of open calls, and then replaced.
    const begun = rows
      .filter(() => random(3) === 0)
      .map(row => ({ ...row, outcome: 'interrupted' as const, duration_ms: 0, cost_nano_usd: random(5000) }))
    for (const batch of [begun, rows.slice(0, 50), rows.slice(50), rows]) await database.insertUsage(batch)
    const wrong: unknown[] = []
    let checked = 0
    for (let look = 0; look < 400; look++) {
      const window = windows[random(windows.length)] ?? { per: 'day' }
      const nowMs = (changes[random(3)] ?? 0) + random(3 * dayMs) - dayMs
      const { fromMs, endMs } = periodAt(window, nowMs)
      const member = random(3)
      // sums of named parties begin and end at a quarter of an hour
      const isOff = fromMs % quarterMs > 0 || (endMs !== Infinity && endMs % quarterMs > 0)
      for (const party of [...isOff ? [] : named, `member:user-${member}`]) {
        const spent = rows
          .filter(
            row =>
              row.at_ms >= fromMs &&
              row.at_ms < endMs &&
              (party.startsWith('member:')
                ? row.key_id === `key-${member}`
                : row.parties !== null && (JSON.parse(row.parties) as string[]).includes(party))
          )
          .reduce((sum, row) => sum + (row.cost_nano_usd ?? 0), 0)
        const read = await usedBetween(
          database.query,
          'nanoUsd',
          party,
          fromMs,
          endMs
        )
        if (read !== spent) wrong.push({ party, window, nowMs, read, spent })
        if (spent > 0) checked++
      }
    }
    t.same(wrong.slice(0, 3), [])
    t.ok(checked > 400, `${checked} sums above 0`)
    t.equal(
      await usedBetween(database.query, 'images', 'tag:a', 0, Infinity),
      0,
      'a tag has budgets and no other sums'
    )
  }
)
