import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { directoryDestination } from '../../lib/exports/directory-destination.ts'
import { ExportStore } from '../../lib/exports/export-store.ts'
import { s3Destination } from '../../lib/exports/s3-destination.ts'
import { UsageExports, type ExportTarget, type UsageExportsOptions } from '../../lib/exports/usage-exports.ts'
import { createLog } from '../../lib/log/log.ts'
import { pageRequest } from '../../lib/stores/pages.ts'
import { Reports } from '../../lib/usage/reports.ts'
import { openBucket } from '../support/bucket.ts'
import { storeTest } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { usageRowOf } from '../support/usage.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { UsageExport } from '../../schemas/admin/exports.ts'
import type { Test } from 'tap'

const hourMs = 3_600_000
const settleMs = 60_000
const log = createLog('silent')
/** 10:30 UTC. */
const begin = Date.UTC(2026, 10, 27, 10, 30)
const ten = Date.UTC(2026, 10, 27, 10)

interface Clock { ms: number }

function folderOf (t: Test): string {
  const folder = join(t.testdirName, 'exports') // beside the store
  mkdirSync(folder)
  return folder
}

function hourly (folder: string, parts: Partial<ExportTarget> = {}): ExportTarget {
  return { destination: directoryDestination(folder), format: 'jsonl', gzip: false, every: 'hour', ...parts }
}

/** Exports from a store with an injected clock. */
function exportsAt (
  t: Test,
  database: Database,
  clock: Clock,
  targets: Readonly<Record<string, ExportTarget>>,
  more: Partial<UsageExportsOptions> = {}
): UsageExports {
  const reports = new Reports(database)
  const exports = new UsageExports({
    targets: new Map(Object.entries(targets)),
    store: new ExportStore({ query: database.query, now: () => clock.ms }),
    reports, log, settleMs, retryMs: [1000, 5000], onClose: async () => await reports.close(), ...more
  })
  t.teardown(exports.close)
  return exports
}

async function listed (exports: UsageExports): Promise<UsageExport[]> {
  return (await exports.list(undefined, pageRequest(new URLSearchParams()))).data
}

function filesOf (folder: string): Record<string, string[]> {
  return Object.fromEntries(
    readdirSync(folder)
      .toSorted()
      .map(name => [
        name,
        readFileSync(join(folder, name), 'utf8')
          .split('\n')
          .filter(line => line !== '')
          .map(line => (JSON.parse(line) as { id: string }).id)
      ])
  )
}

storeTest(
  'each hour becomes a file once it has passed, even without records, with all its records',
  async (t, open) => {
    const database = await open()
    const [folder, clock] = [folderOf(t), { ms: begin }]
    const exports = exportsAt(t, database, clock, { files: hourly(folder) })
    await exports.run()
    t.match(await listed(exports), [
      {
        target: 'files',
        from_ms: ten,
        until_ms: ten + hourMs,
        state: 'waiting',
        file: null,
        next_at_ms: ten + hourMs + settleMs
      }
    ])
    await database.insertUsage([
      usageRowOf(1, { at_ms: ten }),
      usageRowOf(2, { at_ms: ten + hourMs - 1 }),
      usageRowOf(3, { at_ms: ten + hourMs }),
      usageRowOf(4, { at_ms: ten - 1 })
    ])
    clock.ms = ten + hourMs + settleMs - 1
    await exports.run()
    t.strictSame(filesOf(folder), {}, 'calls of the hour may still end')
    clock.ms = ten + 3 * hourMs + settleMs
    await exports.run()
    t.strictSame(filesOf(folder), {
      'usage-20261127T10Z-20261127T11Z.jsonl': ['row-1', 'row-2'],
      'usage-20261127T11Z-20261127T12Z.jsonl': ['row-3'],
      'usage-20261127T12Z-20261127T13Z.jsonl': []
    })
    const [next, , , first] = await listed(exports)
    t.match(next, { from_ms: ten + 3 * hourMs, state: 'waiting' })
    t.match(first, {
      state: 'written',
      file: 'usage-20261127T10Z-20261127T11Z.jsonl',
      revision: 1,
      rows: 2,
      attempts: 0,
      error: null,
      written_at_ms: clock.ms,
      next_at_ms: null
    })
    t.equal(first?.bytes, readFileSync(join(folder, first?.file ?? '')).length)
    t.equal(statSync(join(folder, first?.file ?? '')).mode & 0o007, 0, 'other users cannot read it')
  }
)

storeTest('a late record rewrites the file of its hour under the same name', async (t, open) => {
  const database = await open()
  const [folder, clock] = [folderOf(t), { ms: begin }]
  const exports = exportsAt(t, database, clock, { files: hourly(folder) })
  await exports.run()
  await database.insertUsage([
    usageRowOf(1, { at_ms: ten + 1, outcome: 'interrupted', status: null, duration_ms: 0 }),
    usageRowOf(2, { at_ms: ten + 2 })
  ])
  clock.ms += hourMs
  await exports.run()
  // The journal of a killed process, and the end of a call that was open.
  await database.insertUsage([
    usageRowOf(3, { at_ms: ten + 3 }),
    usageRowOf(1, { at_ms: ten + 1, duration_ms: 9 })
  ])
  clock.ms += hourMs
  await exports.run()
  t.strictSame(filesOf(folder), {
    'usage-20261127T10Z-20261127T11Z.jsonl': ['row-1', 'row-2', 'row-3'],
    'usage-20261127T11Z-20261127T12Z.jsonl': []
  })
  t.match(
    readFileSync(join(folder, 'usage-20261127T10Z-20261127T11Z.jsonl'), 'utf8'),
    /^[^\n]*"outcome":"ok"[^\n]*\n/
  )
  t.strictSame(
    (await listed(exports)).map(({ state, revision, rows }) => [state, revision, rows]),
    [
      ['waiting', 0, 0],
      ['written', 1, 0],
      ['written', 2, 3]
    ]
  )
  clock.ms += hourMs
  await exports.run()
  t.strictSame(
    (await listed(exports)).map(({ revision }) => revision),
    [0, 1, 1, 2],
    'an unchanged file is not written again'
  )
})

storeTest('deleted records stay in their file, even when a late one is added', async (t, open) => {
  const database = await open()
  const [folder, clock] = [folderOf(t), { ms: begin }]
  const exports = exportsAt(t, database, clock, { files: hourly(folder) })
  await exports.run()
  await database.insertUsage([1, 2, 3].map(number => usageRowOf(number, { at_ms: ten + number })))
  clock.ms += hourMs
  await exports.run()
  const before = filesOf(folder)
  await database.query.deleteFrom('usage').where('id', 'in', ['row-1', 'row-2']).execute()
  await database.insertUsage([usageRowOf(4, { at_ms: ten + 4 })])
  clock.ms += hourMs
  await exports.run()
  await exports.run()
  const [name = ''] = Object.keys(before)
  t.strictSame(filesOf(folder)[name], ['row-1', 'row-2', 'row-3'])
  t.match((await listed(exports)).at(-1), { state: 'written', revision: 1, rows: 3 })
})

storeTest('of several gateways one writes each file', async (t, open) => {
  const clock = { ms: begin }
  const folder = folderOf(t)
  const published: string[] = []
  const counting = hourly(folder)
  const target: ExportTarget = {
    ...counting,
    destination: { ...counting.destination, publish: async (file, name, signal) => {
      published.push(name)
      await counting.destination.publish(file, name, signal)
    } }
  }
  const gateways = await Promise.all(
    [1, 2, 3].map(async () => exportsAt(t, await open(), clock, { files: target }))
  )
  await Promise.all(gateways.map(async exports => await exports.run()))
  clock.ms += 4 * hourMs
  await Promise.all(gateways.map(async exports => await exports.run()))
  await until(async () => {
    await Promise.all(gateways.map(async exports => await exports.run()))
    return published.length >= 4
  }, 'four files')
  t.strictSame(published.toSorted(), Object.keys(filesOf(folder)))
  t.equal(published.length, 4)
})

storeTest(
  'an export interrupted by a kill is completed by another gateway when the lease ends',
  async (t, open) => {
    const database = await open()
    const [folder, clock] = [folderOf(t), { ms: begin }]
    const exports = exportsAt(t, database, clock, { files: hourly(folder) }, { leaseMs: 10_000 })
    await exports.run()
    clock.ms += hourMs
    const store = new ExportStore({ query: database.query, now: () => clock.ms })
    const taken = await store.take('files', 10_000)
    t.match(taken, { from_ms: ten, attempts: 1 })
    writeFileSync(join(folder, '.headgate-left.tmp'), 'half of it')
    utimesSync(join(folder, '.headgate-left.tmp'), 1, 1)
    await exports.run()
    t.equal(taken && (await listed(exports)).at(-1)?.state, 'waiting')
    clock.ms += 10_000
    await exports.run()
    t.strictSame(
      filesOf(folder),
      { 'usage-20261127T10Z-20261127T11Z.jsonl': [] },
      'its leftovers are gone'
    )
    if (taken !== undefined) await store.finish(taken, { state: 'written', revision: 7 })
    t.match(
      (await listed(exports)).at(-1),
      { state: 'written', revision: 1 },
      'the one that lost its lease changes nothing'
    )
  }
)

storeTest(
  'a failed target is retried with growing delays, delays no other, and becomes complete',
  async (t, open) => {
    const database = await open()
    const [folder, clock] = [folderOf(t), { ms: begin }]
    let isUnreachable = true
    const bucket = await openBucket(t, () => (isUnreachable ? [503, 'ServiceUnavailable'] : undefined))
    const work = join(t.testdirName, 'work')
    mkdirSync(work)
    const s3: ExportTarget = {
      ...hourly(''),
      format: 'csv',
      destination: s3Destination(bucket.s3, { workFolder: work, requestMs: 60_000 })
    }
    const exports = exportsAt(t, database, clock, { files: hourly(folder), cloud: s3 })
    await exports.run()
    await database.insertUsage([usageRowOf(1, { at_ms: ten })])
    clock.ms = ten + 2 * hourMs + settleMs
    const lookUntil = async (condition: () => boolean | Promise<boolean>, what: string): Promise<void> =>
      await until(async () => {
        exports.poll()
        return await condition()
      }, what)
    await lookUntil(
      () => exports.counts.get('cloud')?.failed === 1 && exports.counts.get('files')?.written === 2,
      'the attempts'
    )
    t.strictSame(
      [...exports.failures],
      [['cloud', 'the bucket answered with status 503 (ServiceUnavailable)']]
    )
    await until(
      async () => (await listed(exports)).some(({ error }) => error !== null),
      'the failure in the store'
    )
    t.match(
      (await listed(exports)).find(({ error }) => error !== null),
      {
        target: 'cloud',
        from_ms: ten,
        state: 'waiting',
        attempts: 1,
        error: 'the bucket answered with status 503 (ServiceUnavailable)',
        next_at_ms: clock.ms + 1000
      }
    )
    clock.ms += 1000
    await lookUntil(() => exports.counts.get('cloud')?.failed === 2, 'the second attempt')
    await until(
      async () =>
        (await listed(exports)).some(
          ({ attempts, next_at_ms: at }) => attempts === 2 && at === clock.ms + 5000
        ),
      'the second wait'
    )
    t.equal(bucket.requests.length, 2, 'later windows wait for the first')
    isUnreachable = false
    clock.ms += 5000
    await lookUntil(() => exports.counts.get('cloud')?.written === 2, 'both files')
    await until(() => exports.failures.size === 0, 'the failure to be over')
    t.strictSame(
      [...bucket.objects.keys()],
      ['10Z-20261127T11Z', '11Z-20261127T12Z'].map(
        name => `/records/usage/year%3D2026/usage-20261127T${name}.csv`
      )
    )
    t.match([...bucket.objects.values()][0]?.toString(), /^id,call_id,.*\r\nrow-1,/)
    t.strictSame(readdirSync(work), [], 'no file is left over')
  }
)

storeTest('while a file is written, trying again does not begin it a second time', async (t, open) => {
  const database = await open()
  const [folder, clock] = [folderOf(t), { ms: begin }]
  const { promise: released, resolve: release } = withResolvers<void>()
  const { promise: began, resolve: begun } = withResolvers<void>()
  const destination = directoryDestination(folder)
  let attempts = 0
  const slow: ExportTarget['destination'] = {
    ...destination,
    publish: async (...file) => {
      if (++attempts === 1) throw new Error('the bucket is unreachable')
      begun()
      await released
      await destination.publish(...file)
    }
  }
  const one = exportsAt(t, database, clock, { files: hourly(folder, { destination: slow }) })
  await database.insertUsage([usageRowOf(1, { at_ms: ten })])
  await one.run()
  clock.ms = ten + hourMs + settleMs
  await one.run()
  const two = exportsAt(t, database, clock, { files: hourly(folder) })
  two.poll()
  await until(() => two.failures.get('files') === 'the bucket is unreachable', 'what failed elsewhere')

  clock.ms += 2000
  one.poll()
  await began
  await database.insertUsage([usageRowOf(2, { at_ms: ten })])
  t.equal(await two.start('files'), 0)
  t.match((await listed(two)).find(({ from_ms: fromMs }) => fromMs === ten), { state: 'waiting' })
  release()
  await until(() => one.counts.get('files')?.written === 1, 'the file')
  // Either may have seen the late record and be writing it; the next one would not wait for that.
  await Promise.all([one.close(), two.close()])
  clock.ms += hourMs
  await exportsAt(t, database, clock, { files: hourly(folder) }).run()
  t.same(filesOf(folder)['usage-20261127T10Z-20261127T11Z.jsonl'], ['row-1', 'row-2'])
})

storeTest('a slow bucket delays no other target', async (t, open) => {
  const database = await open()
  const [folder, clock] = [folderOf(t), { ms: begin }]
  const bucket = await openBucket(t, () => 'stall')
  const slow: ExportTarget = {
    ...hourly(''),
    destination: s3Destination(bucket.s3, { workFolder: folder, requestMs: 60_000 })
  }
  const exports = exportsAt(t, database, clock, { cloud: slow, files: hourly(folder) })
  await until(async () => {
    exports.poll()
    return (await listed(exports)).length === 2
  }, 'the first windows')
  clock.ms += hourMs
  await until(() => {
    exports.poll()
    return bucket.requests.length === 1
  }, 'the upload')
  clock.ms += hourMs
  await until(() => {
    exports.poll()
    return exports.counts.get('files')?.written === 2
  }, 'both files of the other target')
  t.same(exports.counts.get('cloud'), { written: 0, failed: 0 })
})

storeTest(
  'a stop aborts an attempt without a failure, and the next gateway continues at once',
  async (t, open) => {
    const database = await open()
    const clock = { ms: begin }
    const bucket = await openBucket(t, () => 'stall')
    const work = folderOf(t)
    const target = (): ExportTarget => ({
      ...hourly(''),
      destination: s3Destination(bucket.s3, { workFolder: work, requestMs: 60_000 })
    })
    const exports = exportsAt(t, database, clock, { cloud: target() })
    await exports.run()
    clock.ms += hourMs
    exports.poll()
    await until(() => bucket.requests.length === 1, 'the upload')
    await exports.close()
    const next = exportsAt(t, await open(), clock, { cloud: target() })
    t.match((await listed(next)).at(-1), {
      state: 'waiting',
      attempts: 0,
      error: null,
      next_at_ms: clock.ms
    })
    t.strictSame(readdirSync(work), [])
  }
)

storeTest(
  'files are compressed, have the configured columns, and are reproducible',
  async (t, open) => {
    const database = await open()
    const [folder, clock] = [folderOf(t), { ms: begin }]
    const how = { format: 'csv', gzip: true, columns: ['cost_nano_usd', 'key_id', 'id'] } as const
    const exports = exportsAt(t, database, clock, { files: hourly(folder, how) })
    await exports.run()
    await database.insertUsage(
      Array.from({ length: 2500 }, (_, number) => usageRowOf(number, { at_ms: ten + number })).slice(
        0,
        database.maxBatchRows
      )
    )
    clock.ms += hourMs
    await exports.run()
    const path = join(folder, 'usage-20261127T10Z-20261127T11Z.csv.gz')
    const bytes = readFileSync(path)
    const lines = gunzipSync(bytes).toString().split('\r\n')
    t.strictSame(lines.slice(0, 2), ['cost_nano_usd,key_id,id', '10,key-1,row-0'])
    t.equal(lines.length - 2, Math.min(2500, database.maxBatchRows))
    rmSync(path)
    const [row] = await new ExportStore({ query: database.query, now: () => clock.ms }).written('files', 0)
    if (row !== undefined) await new ExportStore({ query: database.query, now: () => clock.ms }).reopen(row)
    await exports.run()
    t.strictSame(readFileSync(path), bytes)
  }
)

storeTest('a change from hours to days, or a pause, leaves no gap and no overlap', async (t, open) => {
  const database = await open()
  const [folder, clock] = [folderOf(t), { ms: begin }]
  const hours = exportsAt(t, database, clock, { files: hourly(folder) })
  await hours.run()
  clock.ms += hourMs
  await hours.run()
  const days = exportsAt(t, database, clock, { files: hourly(folder, { every: 'day' }) })
  clock.ms += 72 * hourMs
  await days.run()
  clock.ms += 24 * hourMs
  await exportsAt(t, database, clock, { files: hourly(folder) }).run()
  const windows = (await listed(days)).toReversed()
  for (const [index, { from_ms: fromMs }] of windows.entries()) {
    if (index > 0) t.equal(fromMs, windows[index - 1]?.until_ms)
  }
  t.match(Object.keys(filesOf(folder)).slice(0, 4), [
    'usage-20261127T10Z-20261127T11Z.jsonl',
    'usage-20261127T11Z-20261127T12Z.jsonl',
    'usage-20261127T12Z-20261128T00Z.jsonl',
    'usage-20261128T00Z-20261129T00Z.jsonl'
  ])
})
