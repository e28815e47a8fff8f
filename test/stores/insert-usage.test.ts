import { spendingOf } from '../../lib/usage/spending.ts'
import { dayMs } from '../../lib/usage/day.ts'
import { usageRowOf } from '../support/usage.ts'
import { storeTest } from '../support/stores.ts'

const morning = Date.UTC(2025, 10, 21, 8)

storeTest('every column of a row is written and read back', async (t, open) => {
  const store = await open()
  const row = usageRowOf(1, {
    requested_model: 'a', model: 'b', provider: 'c', error_code: 'd', streamed: 1, turns: 2, cached_tokens: 3, reasoning_tokens: 4, estimated: 1, pages: 5, audio_ms: 6,
    characters: 7, images: 8, image_size: 'e', image_quality: 'f', cache_write_tokens: 9, searches: 10, own_provider_key: 1
  })
  await store.insertUsage([row])
  t.strictSame({ ...await store.query.selectFrom('usage').selectAll().executeTakeFirst() }, row)
})

storeTest('what rows cost is added to the day and the key they belong to, once', async (t, open) => {
  const store = await open()
  const rows = [
    usageRowOf(1, { at_ms: morning, cost_nano_usd: 5 }), usageRowOf(2, { at_ms: morning + 1, cost_nano_usd: 7 }),
    usageRowOf(3, { at_ms: morning + dayMs, cost_nano_usd: 11 }), usageRowOf(4, { at_ms: morning, key_id: 'key-2', cost_nano_usd: 13 }),
    usageRowOf(5, { at_ms: morning, cost_nano_usd: null }), usageRowOf(6, { at_ms: morning, cost_nano_usd: 0 })
  ]
  await store.insertUsage(rows)
  await store.insertUsage(rows.slice(0, 2))
  const spent = async (key: string, fromMs: number, untilMs: number): Promise<number> => await spendingOf(store.query, key, fromMs, untilMs)
  t.same([await spent('key-1', 0, morning), await spent('key-1', 0, morning + dayMs), await spent('key-2', 0, morning + dayMs)], [12, 23, 13])
  t.equal((await store.query.selectFrom('usage').select('id').execute()).length, 6)
})

storeTest('a row that cannot be written takes back those before it, and what they cost', async (t, open) => {
  const store = await open()
  await t.rejects(store.insertUsage([usageRowOf(1), usageRowOf(2, { endpoint: null as unknown as string })])) // no type allows it
  t.equal(await spendingOf(store.query, 'key-1', 0, Date.now()), 0)
})
