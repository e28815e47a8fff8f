/** Exports of a gateway, from the configuration to the file, the list and what a failure shows. */

import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ExportStore } from '../../../lib/exports/export-store.ts'
import { Metrics } from '../../../lib/telemetry/metrics.ts'
import { adminGateway } from '../../support/admin.ts'
import { bucketKey, openBucket } from '../../support/bucket.ts'
import { eventually, until } from '../../support/until.ts'
import { usageRowOf } from '../../support/usage.ts'
import { settings } from '../../support/settings.ts'
import type { Settings } from '../../../lib/core/settings.ts'

const hourMs = 3_600_000
const how = { format: 'csv', gzip: false, every: 'hour' } as const

function usageWith (exports: Settings['usage']['exports']): { readonly usage: Settings['usage'] } {
  return { usage: { ...settings().usage, exports } }
}

t.test('files are listed with their state, and a failure is what is degraded', async t => {
  const folder = join(t.testdirName, 'files')
  let isAway = true
  const bucket = await openBucket(t, () => isAway ? [500, 'InternalError'] : undefined)
  const place = await adminGateway(t, usageWith({
    accounting: { ...how, directory: folder, columns: ['cost_nano_usd', 'id'] }, warehouse: { ...how, s3: bucket.s3 }
  }))
  mkdirSync(folder, { recursive: true })
  const { send } = await place.user('admin')
  const { gateway } = place.api
  const look = (): void => gateway.services.usageExports?.look()
  const list = async (query = ''): Promise<Array<Record<string, unknown>>> => {
    look()
    return (await send(`GET /admin/v1/usage-exports${query}`)).body.data
  }
  const waiting = await eventually(list, data => data.length === 2, 'the first windows')
  t.match(waiting.map(({ target, state, file }) => ({ target, state, file })), [{ target: 'warehouse', state: 'waiting', file: null }, { target: 'accounting' }])
  // As if the gateway had run two hours ago.
  const fromMs = Date.now() - Date.now() % hourMs - 2 * hourMs
  const store = new ExportStore(place.database)
  for (const target of ['accounting', 'warehouse']) await store.add(target, { fromMs, untilMs: fromMs + hourMs }, 0)
  await place.database.insertUsage([usageRowOf(1, { at_ms: fromMs + 5, cost_nano_usd: 7 })])
  const [written] = await eventually(async () => (await list('?target=accounting')).filter(({ state }) => state === 'written'), data => data.length > 0, 'the file')
  t.match(written, { target: 'accounting', revision: 1, rows: 1, error: null, from_ms: fromMs, until_ms: fromMs + hourMs })
  t.equal(readFileSync(join(folder, String(written?.['file'])), 'utf8'), 'cost_nano_usd,id\r\n7,row-1\r\n')
  const [failed] = await eventually(async () => (await list('?target=warehouse')).filter(({ error }) => error !== null), data => data.length > 0, 'the failure')
  t.match(failed, { state: 'waiting', attempts: 1, error: 'the bucket answered with status 500 (InternalError)', next_at_ms: Number })
  t.same(gateway.load().degraded, ['exports'])
  const metrics = new Metrics(() => gateway)
  t.match(metrics.families().find(({ name }) => name === 'headgate_usage_exports_total')?.samples, [
    { labels: { target: 'accounting', result: 'written' }, value: 1 }, { labels: { target: 'accounting', result: 'failed' }, value: 0 },
    { labels: { target: 'warehouse', result: 'written' }, value: 0 }, { labels: { target: 'warehouse', result: 'failed' }, value: 1 }
  ])
  isAway = false
  await place.database.query.updateTable('usage_exports').set({ next_at_ms: 0 }).where('error', 'is not', null).execute()
  await until(async () => {
    look()
    return bucket.objects.size > 0 && (gateway.services.usageExports?.failures.size === 0)
  }, 'the object')
  t.same(gateway.load().degraded, [])
  t.notMatch(JSON.stringify(await send('GET /admin/v1/configuration')), bucketKey.secretKey.reveal())
  t.equal((await send('GET /admin/v1/usage-exports?limit=0')).status, 400)
})

t.test('without targets there is no list, and members see none', async t => {
  const place = await adminGateway(t)
  const { send } = await place.user('admin')
  t.match(await send('GET /admin/v1/usage-exports'), { status: 404, body: { error: { message: /add a target to `usage\.exports`/ } } })
  t.equal((await (await place.user('member')).send('GET /admin/v1/usage-exports')).status, 403)
})
