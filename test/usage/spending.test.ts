import { dayMs } from '../../lib/usage/day.ts'
import { usedSince } from '../../lib/usage/spending.ts'
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
