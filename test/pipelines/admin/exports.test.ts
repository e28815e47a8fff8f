/** Usage exports, from the configuration to the file, the list and the reporting of failures. */

import { deepStrictEqual } from 'node:assert/strict'
import { mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { directoryDestination } from '../../../lib/exports/directory-destination.ts'
import { ExportStore } from '../../../lib/exports/export-store.ts'
import { UsageExports, type ExportTarget } from '../../../lib/exports/usage-exports.ts'
import { createLog } from '../../../lib/log/log.ts'
import { isSummed } from '../../../lib/stores/usage-rollups.ts'
import { Metrics } from '../../../lib/telemetry/metrics.ts'
import { Reports } from '../../../lib/usage/reports.ts'
import { usageTotals } from '../../../lib/usage/totals.ts'
import { adminGateway } from '../../support/admin.ts'
import { bucketKey, openBucket } from '../../support/bucket.ts'
import { storeTest } from '../../support/stores.ts'
import { eventually, until } from '../../support/until.ts'
import { usageRowOf } from '../../support/usage.ts'
import { settings } from '../../support/settings.ts'
import type { UsageRow } from '../../../lib/stores/tables.ts'
import type { Settings } from '../../../lib/core/settings.ts'

const hourMs = 3_600_000
const how = { format: 'csv', gzip: false, every: 'hour' } as const

function usageWith (exports: Settings['usage']['exports']): { readonly usage: Settings['usage'] } {
  return { usage: { ...settings().usage, exports } }
}

t.test('files are listed with their state, and a failure counts as degraded', async t => {
  const folder = join(t.testdirName, 'files')
  let isUnreachable = true
  const bucket = await openBucket(t, () => (isUnreachable ? [500, 'InternalError'] : undefined))
  const place = await adminGateway(
    t,
    usageWith({
      accounting: { ...how, directory: folder, columns: ['cost_nano_usd', 'id'] },
      warehouse: { ...how, s3: bucket.s3 }
    })
  )
  mkdirSync(folder, { recursive: true })
  const { send } = await place.user('admin')
  const { gateway } = place.api
  const look = (): void => gateway.services.usageExports?.poll()
  const list = async (query = ''): Promise<Array<Record<string, unknown>>> => {
    look()
    return (await send(`GET /admin/v1/usage-exports${query}`)).body.data
  }
  const waiting = await eventually(list, data => data.length === 2, 'the first windows')
  t.match(
    waiting.map(({ target, state, file }) => ({ target, state, file })),
    [{ target: 'warehouse', state: 'waiting', file: null }, { target: 'accounting' }]
  )
  // As if the gateway had started two hours ago.
  const fromMs = Date.now() - (Date.now() % hourMs) - 2 * hourMs
  const store = new ExportStore(place.database)
  for (const target of ['accounting', 'warehouse']) {
    await store.add(target, { fromMs, untilMs: fromMs + hourMs }, 0)
  }
  await place.database.insertUsage([usageRowOf(1, { at_ms: fromMs + 5, cost_nano_usd: 7 })])
  const [written] = await eventually(
    async () => (await list('?target=accounting')).filter(({ state }) => state === 'written'),
    data => data.length > 0,
    'the file'
  )
  t.match(written, {
    target: 'accounting',
    revision: 1,
    rows: 1,
    error: null,
    from_ms: fromMs,
    until_ms: fromMs + hourMs
  })
  t.equal(readFileSync(join(folder, String(written?.['file'])), 'utf8'), 'cost_nano_usd,id\r\n7,row-1\r\n')
  const [failed] = await eventually(
    async () => (await list('?target=warehouse')).filter(({ error }) => error !== null),
    data => data.length > 0,
    'the failure'
  )
  t.match(failed, {
    state: 'waiting',
    attempts: 1,
    error: 'the bucket answered with status 500 (InternalError)',
    next_at_ms: Number
  })
  t.same(gateway.load().degraded, ['exports'])
  const metrics = new Metrics(() => gateway)
  t.match(metrics.families().find(({ name }) => name === 'headgate_usage_exports_total')?.samples, [
    { labels: { target: 'accounting', result: 'written' }, value: 1 },
    { labels: { target: 'accounting', result: 'failed' }, value: 0 },
    { labels: { target: 'warehouse', result: 'written' }, value: 0 },
    { labels: { target: 'warehouse', result: 'failed' }, value: 1 }
  ])
  isUnreachable = false
  t.match(await send('POST /admin/v1/usage-exports/run', { target: 'warehouse' }), {
    status: 200,
    body: { target: 'warehouse', due: 1 }
  })
  await until(async () => {
    look()
    return bucket.objects.size > 0 && gateway.services.usageExports?.failures.size === 0
  }, 'the object')
  t.match((await send('GET /admin/v1/audit')).body.data[0], {
    action: 'usage_export.run', subject: 'warehouse', after: { due: 1 }
  })
  t.equal((await send('POST /admin/v1/usage-exports/run', { target: 'other' })).status, 404)
  t.same(gateway.load().degraded, [])
  t.notMatch(JSON.stringify(await send('GET /admin/v1/configuration')), bucketKey.secretKey.reveal())
  t.equal((await send('GET /admin/v1/usage-exports?limit=0')).status, 400)
})

t.test('without targets there is no list, and members see none', async t => {
  const place = await adminGateway(t)
  const { send } = await place.user('admin')
  t.match(await send('GET /admin/v1/usage-exports'), {
    status: 404,
    body: { error: { message: /add a target to `usage\.exports`/ } }
  })
  t.equal((await (await place.user('member')).send('GET /admin/v1/usage-exports')).status, 403)
})

const dayMs = 24 * hourMs
/** The week before today, from midnight to midnight UTC. */
const weekEnd = Date.now() - (Date.now() % dayMs)
const weekBegin = weekEnd - 7 * dayMs

/**
 * Returns pseudorandom numbers from 0 to below 1, the same for each seed. @see
 * https://en.wikipedia.org/wiki/Linear_congruential_generator
 */
function randomOf (seed: number): () => number {
  let state = seed
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32
}

/**
 * Creates the rows of a week: of any cost, unpriced and free ones, also at the boundaries of hours and days.
 */
function rowsOfWeek (random: () => number): UsageRow[] {
  const upTo = (max: number): number => Math.floor(random() * max)
  return Array.from({ length: 3000 }, (_, number) => {
    const atMs = weekBegin + upTo(7 * 24) * hourMs + [0, hourMs - 1, upTo(hourMs)][upTo(3)]!
    const cost = [null, 0, 1, upTo(1000), upTo(2e10)][upTo(5)]!
    const endpoint = ['chat', 'chat', 'embeddings', 'models'][upTo(4)]!
    const listsModels = endpoint === 'models'
    return usageRowOf(number, {
      at_ms: atMs,
      key_id: `key-${upTo(5)}`,
      endpoint,
      model: listsModels ? null : `m-${upTo(3)}`,
      attempts: listsModels ? 0 : 1 + upTo(2),
      cost_nano_usd: listsModels ? null : cost,
      prompt_tokens: listsModels ? null : upTo(100_000),
      outcome: ['ok', 'ok', 'error', 'client_closed'][upTo(4)]!,
      tags: upTo(2) === 0 ? null : JSON.stringify(['a, "b"', `t-${upTo(3)}`]),
      end_user: upTo(3) === 0 ? `=user ${upTo(9)}` : null
    })
  })
}

function nanoOf (rows: ReadonlyArray<Pick<UsageRow, 'cost_nano_usd'>>): bigint {
  return rows.reduce((sum, { cost_nano_usd: cost }) => sum + BigInt(cost ?? 0), 0n)
}

/** Adds up amounts of dollars, each a whole number of billionths. */
function nanoOfUsd (amounts: readonly number[]): bigint {
  return amounts.reduce((sum, usd) => sum + BigInt(Math.round(usd * 1e9)), 0n)
}

/** Reads a numeric column of a table whose other cells may be quoted. */
function columnOf (csv: string, name: string): number[] {
  const [head = [], ...rows] = csv
    .trimEnd()
    .split('\r\n')
    .map(line => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell]) => cell ?? ''))
  return rows.map(row => Number(row[head.indexOf(name)]))
}

storeTest(
  'a week adds up to the same in its files, the report, both tables of the dashboard and the command, to the billionth of a dollar',
  async (t, open, place) => {
    const seed = Math.floor(Math.random() * 2 ** 32)
    t.comment(`seed ${seed}`)
    const random = randomOf(seed)
    const { database, user } = await adminGateway(t, {}, {}, place)
    const targets = new Map<string, ExportTarget>()
    for (const every of ['hour', 'day'] as const) {
      const folder = join(t.testdirName, every)
      mkdirSync(folder)
      targets.set(every, { destination: directoryDestination(folder), format: 'jsonl', gzip: false, every })
    }
    const clock = { ms: weekBegin }
    const reports = new Reports(await open())
    const exports = new UsageExports({
      targets,
      store: new ExportStore({ query: database.query, now: () => clock.ms }),
      reports,
      log: createLog('silent'),
      onClose: async () => await reports.close()
    })
    t.teardown(exports.close)

    // Each call is recorded some hours after it began, and the files are written meanwhile.
    const rows = rowsOfWeek(random)
    const waiting = rows
      .map(row => ({ row, atMs: row.at_ms + Math.floor(random() ** 4 * 9 * hourMs) }))
      .toSorted((a, b) => a.atMs - b.atMs)
    for (; clock.ms <= weekEnd + 2 * dayMs; clock.ms += 5 * hourMs) {
      const ended = waiting.splice(0, waiting.filter(({ atMs }) => atMs <= clock.ms).length)
      for (let at = 0; at < ended.length; at += database.maxBatchRows) {
        await database.insertUsage(ended.slice(at, at + database.maxBatchRows).map(({ row }) => row))
      }
      await exports.run()
    }
    t.equal(waiting.length, 0)

    const total = nanoOf(rows)
    let exported: UsageRow[] = []
    for (const every of targets.keys()) {
      const folder = join(t.testdirName, every)
      let endMs = weekBegin
      const inFiles = readdirSync(folder)
        .toSorted()
        .flatMap(file => {
          const [fromMs = 0, untilMs = 0] = [...file.matchAll(/(\d{4})(\d\d)(\d\d)T(\d\d)Z/g)].map(
            ([, ...parts]) => Date.parse(`${parts.slice(0, 3).join('-')}T${parts[3]}:00Z`)
          )
          if (fromMs !== endMs) t.fail(`${file} does not begin where the one before ends`)
          endMs = untilMs
          const found = readFileSync(join(folder, file), 'utf8')
            .split('\n')
            .filter(line => line !== '')
            .map(line => JSON.parse(line) as UsageRow)
          if (found.some(({ at_ms: ms }) => ms < fromMs || ms >= untilMs)) {
            t.fail(`${file} has records of other times`)
          }
          return found
        })
      t.ok(endMs >= weekEnd, 'the files reach to the end of the week')
      t.equal(nanoOf(inFiles), total, `files by ${every}`)
      const byId = (a: UsageRow, b: UsageRow): number => (a.id < b.id ? -1 : 1)
      t.equal(new Set(inFiles.map(({ id }) => id)).size, inFiles.length, 'no record twice')
      // A list of models is in no sum, and a late one does not cause a file to be written again.
      deepStrictEqual(
        inFiles.filter(isSummed.of).toSorted(byId),
        rows.filter(isSummed.of).toSorted(byId),
        'each record as it was written'
      )
      exported = inFiles
    }

    const { send } = await user('admin')
    const week = `from_ms=${weekBegin}&until_ms=${weekEnd}`
    const summed = rows.filter(isSummed.of)
    const { body: report } = await send(`GET /admin/v1/usage?${week}&bucket=day`)
    t.equal(nanoOfUsd([report.totals.cost_usd]), total, 'the report')
    t.equal(report.totals.calls, summed.length)
    t.equal(
      report.totals.prompt_tokens,
      rows.reduce((sum, { prompt_tokens: tokens }) => sum + (tokens ?? 0), 0)
    )
    for (const query of [
      'bucket=hour',
      'bucket=day',
      'bucket=day&group_by=key',
      'bucket=hour&group_by=model',
      'bucket=day&group_by=end_user'
    ]) {
      const { body: csv } = await send(`GET /admin/v1/usage.csv?${week}&${query}`)
      t.equal(nanoOfUsd(columnOf(csv, 'cost_usd')), total, `the table of ${query}`)
      t.equal(
        columnOf(csv, 'calls').reduce((sum, calls) => sum + calls, 0),
        summed.length,
        `calls of ${query}`
      )
    }
    const { body: calls } = await send(`GET /admin/v1/calls.csv?${week}`)
    const costs = columnOf(calls, 'cost_nano_usd')
    t.same(
      [costs.length, nanoOf(costs.map(cost => ({ cost_nano_usd: cost })))],
      [rows.length, total],
      'the table of calls'
    )
    const { totals } = await usageTotals(database.query, weekBegin, ['day'])
    t.equal(nanoOf(totals.map(({ sums }) => sums)), total, 'the command')

    // Days of other time zones, one with a half-hour offset: together exactly the same records.
    for (const [zone, offsetMs] of [
      ['Berlin', hourMs],
      ['Kolkata', 5.5 * hourMs],
      ['Honolulu', -10 * hourMs]
    ] as const) {
      let sum = 0n
      for (let day = 0; day < 9; day++) {
        const [fromMs, untilMs] = [day - 1, day].map(days => weekBegin + days * dayMs - offsetMs) as [
          number,
          number
        ]
        const { body } = await send(`GET /admin/v1/usage?from_ms=${fromMs}&until_ms=${untilMs}&bucket=hour`)
        const expected = nanoOf(exported.filter(({ at_ms: ms }) => ms >= fromMs && ms < untilMs))
        if (nanoOfUsd([body.totals.cost_usd]) !== expected) {
          t.fail(`day ${day} of ${zone}: ${body.totals.cost_usd} instead of ${expected}`)
        }
        sum += expected
      }
      t.equal(sum, total, `the days of ${zone}`)
    }
  }
)
