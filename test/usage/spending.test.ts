import t from 'tap'
import { dayMs } from '../../lib/core/day.ts'
import { isSummed, usedSince } from '../../lib/usage/spending.ts'
import { usageRowOf } from '../support/usage.ts'
import { storeTest } from '../support/stores.ts'

storeTest('spending is that of one key, of all days from the first to that of the last moment', async (t, open) => {
  const database = await open()
  await database.insertUsage([0, 1, 2].map(day => usageRowOf(day, { at_ms: day * dayMs + 5, cost_nano_usd: 10 ** day })))
  const spent = async (fromMs: number, untilMs: number, key = 'key-1'): Promise<number> => await usedSince(database.query, 'nanoUsd', key, fromMs, untilMs)
  t.equal(await spent(0, 3 * dayMs), 111)
  t.equal(await spent(dayMs, dayMs), 10, 'all of a day counts')
  t.equal(await spent(dayMs, 3 * dayMs), 110)
  t.equal(await spent(5 * dayMs, 6 * dayMs), 0)
  t.equal(await spent(0, 3 * dayMs, 'other'), 0)
})

storeTest('images are added up by day, of all keys of a project', async (t, open) => {
  const database = await open()
  await database.insertUsage([0, 1, 2].map(day => usageRowOf(day, { at_ms: day * dayMs + 5, images: 10 ** day })))
  t.equal(await usedSince(database.query, 'images', 'key-1', dayMs, 3 * dayMs), 110)
  t.equal(await usedSince(database.query, 'images', 'other', dayMs, 3 * dayMs), 0)
})

storeTest('a sum from the middle of a day reads its hours, and from the middle of an hour its records', async (t, open) => {
  const database = await open()
  const [hour, minute] = [3_600_000, 60_000]
  const times = [dayMs + 17 * hour, dayMs + 18 * hour + 29 * minute, dayMs + 18 * hour + 30 * minute, dayMs + 19 * hour, dayMs + 23 * hour, 2 * dayMs, 3 * dayMs + hour]
  await database.insertUsage(times.map((atMs, number) => usageRowOf(number, { at_ms: atMs, cost_nano_usd: 10 ** number, images: 10 ** number })))
  for (const unit of ['nanoUsd', 'images'] as const) {
    t.equal(await usedSince(database.query, unit, 'key-1', dayMs + 18 * hour, 3 * dayMs), 1_111_110, 'whole hours')
    t.equal(await usedSince(database.query, unit, 'key-1', dayMs + 18 * hour + 30 * minute, 3 * dayMs), 1_111_100, 'half an hour')
    t.equal(await usedSince(database.query, unit, 'key-1', 2 * dayMs, 3 * dayMs), 1_100_000, 'days')
  }
})

t.test('the ledger adds up money and billed units, and not what is counted per minute', async t => {
  t.same(['nanoUsd', 'images', 'audio_ms', 'requests', 'tokens', 'calls'].map(isSummed), [true, true, true, false, false, false])
})
