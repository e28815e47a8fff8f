import { exportUsage } from '../../lib/usage/export-usage.ts'
import { storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'

const period = { fromMs: 0, untilMs: Date.UTC(2100) }

storeTest(
  'every record is printed once, in the order of time, including those of one moment',
  async (t, open) => {
    const database = await open()
    const rows = Array.from({ length: 2500 }, (_, number) =>
      usageRowOf(number, {
        id: `row-${String(number).padStart(5, '0')}`,
        at_ms: 1_763_686_800_000 + Math.floor(number / 2000)
      })
    )
    for (let at = 0; at < rows.length; at += database.maxBatchRows) {
      await database.insertUsage(rows.slice(at, at + database.maxBatchRows))
    }
    let text = ''
    for await (const piece of exportUsage(database.query, period, 'jsonl')) text += piece
    t.strictSame(
      text
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as unknown),
      rows
    )
  }
)

storeTest('columns keep their positions, since programs that read CSV rely on them', async (t, open) => {
  const { query } = await open()
  const head =
    'id,call_id,at_ms,key_id,endpoint,requested_model,model,provider,outcome,status,error_code,streamed,attempts,turns,prompt_tokens,' +
    'completion_tokens,cached_tokens,reasoning_tokens,estimated,pages,audio_ms,characters,images,cost_nano_usd,own_provider_key,duration_ms,first_byte_ms,' +
    'cache_write_tokens,searches,image_size,image_quality,steps'
  t.match((await exportUsage(query, period, 'csv').next()).value, new RegExp(`^${head}[,\r\n]`))
})

storeTest('a page is read after the previous one was consumed', async (t, open) => {
  const database = await open()
  await database.insertUsage([usageRowOf(1)])
  const pieces = exportUsage(database.query, period, 'csv')
  t.match((await pieces.next()).value, /^id,/)
  t.match((await pieces.next()).value, /^row-1,/)
  await database.insertUsage([usageRowOf(2)])
  t.match((await pieces.next()).value, /^row-2,/)
  t.same(await pieces.next(), { done: true, value: undefined })
})
