/**
 * Measures the reports of the dashboard and of `headgate usage` over many usage records: each by one kind of
 * name, or by none, must take less than a second.
 *
 * node build/bench/scale/usage-query.js [--rows 20000000] [--postgres postgres://… | --directory DIRECTORY]
 * [--records-only | --reports-only | --write-sums]
 *
 * The database itself writes the records into a store of the version before sums by name, which is then
 * opened and summed up without pauses, by a process that is killed midway and one that continues: an upgrade
 * takes at least as long. With `--write-sums` the database writes the sums too, which is faster, but then
 * only the reports are measured. The records are spread over 90 days, 100 keys in 5 projects, 20 models of 5
 * providers and 2 endpoints, 2000 end users and 100 tags of each project, and sessions of 20 calls.
 * `--records-only` stops when they are written. The directory is kept, and an existing store is used as it
 * is: `--rows` must then be the same as when it was filled.
 */

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DatabaseSync } from '@photostructure/sqlite'
import { sql } from 'kysely'
import { Secret } from '../../lib/core/secret.ts'
import { migrations } from '../../lib/stores/migrations.ts'
import { allNames, nameRollupKey, namePeriodStart, rollupKinds } from '../../lib/stores/name-rollups.ts'
import { sumCountsSqlite } from '../../lib/stores/percentiles.ts'
import {
  amounts, countSql, isSummed, rollupDimensions, rollupDurations, rollupSums
} from '../../lib/stores/usage-rollups.ts'
import { retryWhenLocked } from '../../lib/stores/retry-when-locked.ts'
import { backfillStep } from '../../lib/stores/backfill-step.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { createPrivately, databasePath } from '../../lib/stores/sqlite/database-file.ts'
import { migrate as migrateSqlite } from '../../lib/stores/sqlite/migrate.ts'
import { migrate as migratePostgres } from '../../lib/stores/postgres/migrate.ts'
import { Partitions } from '../../lib/stores/postgres/partitions.ts'
import { listCalls } from '../../lib/usage/calls-report.ts'
import { attributionNames } from '../../schemas/admin/usage.ts'
import { dayMs, dayOf } from '../../lib/core/day.ts'
import { usageTotals } from '../../lib/usage/totals.ts'
import { usageReport, type UsageReportRequest } from '../../lib/usage/usage-report.ts'
import { isSqlite, type Database, type StoreLocation } from '../../lib/stores/database.ts'
import type { NameRollupRow } from '../../lib/stores/tables.ts'

const days = 90
const limitMs = 1000
const stepRows = 1_000_000
/** The step of `usage_rollups`, which sums up existing records, and the others before `name_rollups`. */
const rollups = migrations.find(({ sql }) => sql.includes('create table usage_rollups'))
const before = migrations
  .slice(
    0,
    migrations.findIndex(({ sql }) => sql.includes('create table name_rollups'))
  )
  .filter(step => step !== rollups)

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '20000000' },
    postgres: { type: 'string' },
    directory: { type: 'string' },
    'records-only': { type: 'boolean', default: false },
    'reports-only': { type: 'boolean', default: false },
    'sum-up': { type: 'boolean', default: false },
    'write-sums': { type: 'boolean', default: false }
  }
})
const rows = Number(values.rows)
const hourMs = dayMs / 24
const everyMs = days * dayMs / rows

const directory = values.directory ?? mkdtempSync(join(tmpdir(), 'headgate-usage-query-'))
const newestMs = values.postgres === undefined ? newestOfSqlite() : await newestOfPostgres(values.postgres)
const isFilled = newestMs !== undefined
/** The end of the records: the beginning of the hour in which they are written. */
const endMs = Math.floor((isFilled ? newestMs + hourMs : Date.now()) / hourMs) * hourMs
const place: StoreLocation = {
  server: { dataDir: directory },
  store: {
    poolSize: 4,
    connectMs: 10_000,
    statementMs: 30_000,
    keysStaleMs: 1000,
    ...values.postgres !== undefined && { url: new Secret(values.postgres) }
  }
}

if (values['sum-up']) {
  await sumUp(await openDatabase(place))
  process.exit()
}
try {
  const filled = await timed(async () => {
    if (!isFilled) {
      await (values.postgres === undefined ? fillSqlite() : fillPostgres(values.postgres))
    }
  })
  if (values['records-only']) {
    console.log(`${rows} records in ${days} days, written in ${seconds(filled.ms)}`)
    process.exit()
  }
  const opened = await timed(async () => await openDatabase(place))
  console.log(
    `${rows} records in ${days} days, ${values.postgres === undefined ? 'SQLite' : 'PostgreSQL'}; written in ${seconds(filled.ms)}, opened with new tables in ${seconds(opened.ms)}`
  )
  if (values['write-sums']) await writeSums(opened.result)
  else if (!values['reports-only']) await upgrade(opened.result)
  const isFast = await measure(opened.result)
  await opened.result.close()
  process.exitCode = isFast ? 0 : 1
} finally {
  if (values.directory === undefined) rmSync(directory, { recursive: true })
}

/** Sums up the records: first in a process that is killed midway, then here. */
async function upgrade (database: Database): Promise<void> {
  const { query } = database
  const first = spawn(
    process.execPath,
    [
      ...process.execArgv,
      process.argv[1] ?? '',
      ...process.argv.slice(2),
      '--directory',
      directory,
      '--sum-up'
    ],
    { stdio: 'ignore' }
  )
  const exited = once(first, 'exit')
  const middleMs = endMs - days * dayMs / 50
  const killed = await timed(async () => {
    const backlog = async (): Promise<number> =>
      (await query.selectFrom('rollup_backlog').select('at_ms').executeTakeFirst())?.at_ms ?? 0
    while ((await backlog()) > middleMs && first.exitCode === null) await sleep(20)
    first.kill('SIGKILL')
    await exited
  })
  const rest = await timed(async () => await sumUp(database))
  console.log(
    `summed up in ${seconds(killed.ms + rest.ms)}, of which ${seconds(killed.ms)} in a process that was killed; the longest step of the other took ${rest.result.toFixed(0)} ms`
  )
  await checkSums(query)
}

/** @returns milliseconds of the longest step */
async function sumUp (database: Database): Promise<number> {
  let longestMs = 0
  for (;;) {
    const { result, ms } = await timed(
      async () => await retryWhenLocked(async () => await backfillStep(database))
    )
    longestMs = Math.max(longestMs, ms)
    if (result === undefined) return longestMs
  }
}

/** Writes the sums day by day, with the names of each, in place of the upgrade. */
async function writeSums (database: Database): Promise<void> {
  const { query } = database
  const [ofModel, project] = [rollupDimensions.model, "'project-' || cast(substr(key_id, 5) as integer) % 5"]
  const all = `'${allNames}'`
  const names: Readonly<Record<NameRollupRow['kind'], readonly [names: readonly string[], model: string]>> = {
    end_user: [['end_user', all], "''"],
    session: [['session', all], "''"],
    tag: [['tag.value', all], ofModel],
    tagged: [[all], ofModel]
  }
  const durations = Object.entries(rollupDurations)
  const columns = [...nameRollupKey, ...rollupSums, ...durations.map(([column]) => column)].join(', ')
  const sums = [
    ...rollupSums.map(name => `sum(${amounts[name].sql}) as ${name}`),
    ...durations.map(([column, duration]) => `string_agg(${countSql(duration)}, ',') as ${column}`)
  ].join(', ')
  const added = isSqlite(database) ? sumCountsSqlite : (counts: string) => `added_durations(${counts})`
  const summed = [...rollupSums, ...durations.map(([column]) => added(column))].join(', ')
  const written = await timed(async () => {
    await sql`delete from name_rollups`.execute(query)
    await sql`delete from counted_names`.execute(query)
    for (let fromMs = dayOf(endMs - days * dayMs); fromMs < endMs; fromMs += dayMs) {
      for (const kind of rollupKinds) {
        const [namesOfKind, model] = names[kind]
        const tags = kind === 'tag' ? 'cross join json_each(tags) as tag' : ''
        for (const name of namesOfKind) {
          await sql.raw(`insert into name_rollups (${columns})
            select '${kind}', ${fromMs}, project_id, name, model, ${summed} from (
              select ${project} as project_id, ${name} as name, ${model} as model, ${sums} from usage ${tags}
              where at_ms >= ${fromMs} and at_ms < ${fromMs + dayMs} and ${isSummed.sql} group by 1, 2, 3
            ) as of_day`)
            .execute(query)
        }
      }
      for (const kind of attributionNames) {
        await sql.raw(`insert into counted_names (kind, from_ms, project_id, name)
          select distinct kind, ${namePeriodStart(kind, fromMs)}, project_id, name from name_rollups
          where kind = '${kind}' and name <> ${all} and from_ms = ${fromMs} on conflict do nothing`).execute(query)
      }
    }
    await sql`delete from rollup_backlog`.execute(query)
    // as the server does on its own some minutes later
    if (!isSqlite(database)) await sql`vacuum analyze name_rollups`.execute(query)
  })
  console.log(`sums written in ${seconds(written.ms)}`)
  await checkSums(query)
}

async function checkSums (query: Database['query']): Promise<void> {
  for (const kind of rollupKinds) {
    const { calls } = await query
      .selectFrom('name_rollups')
      .where('kind', '=', kind)
      .where('name', '=', allNames)
      .select(({ fn }) => fn.sum<number>('calls').as('calls'))
      .executeTakeFirstOrThrow()
    if (calls !== rows) throw new Error(`${kind}: ${calls} calls`)
  }
}

/** Runs each report three times; the slowest counts. */
async function measure ({ query }: Database): Promise<boolean> {
  const period = (length: number): UsageReportRequest['period'] => ({
    fromMs: endMs - length * dayMs,
    untilMs: endMs
  })
  /** Whole days, which are read from sums only; other periods read records of the days at their ends. */
  const wholeDays = (length: number): UsageReportRequest['period'] => ({
    fromMs: dayOf(endMs) - length * dayMs,
    untilMs: dayOf(endMs)
  })
  const ofDays =
    (length: number, rest: Omit<UsageReportRequest, 'period' | 'origin'>, origin = {}) =>
    async () =>
      (await usageReport(query, { period: wholeDays(length), origin, ...rest })).totals.calls
  const report = (length: number, rest: Omit<UsageReportRequest, 'period' | 'origin'>) => async () =>
    (await usageReport(query, { period: period(length), origin: {}, ...rest })).totals.calls
  const narrowed =
    (
      length: number,
      origin: UsageReportRequest['origin'],
      rest: Omit<UsageReportRequest, 'period' | 'origin'>
    ) =>
    async () =>
      (await usageReport(query, { period: period(length), origin, ...rest })).totals.calls
  const reports: ReadonlyArray<readonly [name: string, run: () => Promise<number>, length: number]> = [
    [
      '24 hours by hour and model, compared',
      report(1, { bucket: 'hour', groupBy: 'model', compare: true }),
      1
    ],
    ['7 days by hour and key, compared', report(7, { bucket: 'hour', groupBy: 'key', compare: true }), 7],
    [
      '30 days by day and project, compared',
      report(30, { bucket: 'day', groupBy: 'project', compare: true }),
      30
    ],
    ['90 days by day and key', report(days, { bucket: 'day', groupBy: 'key' }), days],
    [
      '7 days of one model',
      async () =>
        (await usageReport(query, { period: period(7), origin: { models: ['p1/model-1'] }, bucket: 'hour' }))
          .totals.calls,
      NaN
    ],
    [
      'headgate usage --since 90d --by key,model',
      async () =>
        (await usageTotals(query, endMs - days * dayMs, ['key', 'model'])).totals.reduce(
          (sum, { sums }) => sum + sums.calls,
          0
        ),
      days
    ],
    ...(['end_user', 'session', 'tag'] as const).flatMap(
      name =>
        [
          [`24 hours by hour and ${name}, of records`, report(1, { bucket: 'hour', groupBy: name }), 1],
          [
            `7 days by day and ${name}, compared`,
            ofDays(7, { bucket: 'day', groupBy: name, compare: true }),
            7
          ],
          [
            `7 days from noon to noon by day and ${name}`,
            report(7, { bucket: 'day', groupBy: name }),
            7
          ],
          [
            `30 days by day and ${name}, compared`,
            ofDays(30, { bucket: 'day', groupBy: name, compare: true }),
            30
          ],
          [
            `89 days by day and ${name}`,
            ofDays(days - 1, { bucket: 'day', groupBy: name }),
            days - 1
          ]
        ] as const
    ),
    ['30 days of one end user', ofDays(30, { bucket: 'day' }, { endUsers: ['user-7'] }), NaN],
    [
      '30 days of one tag by model',
      ofDays(30, { bucket: 'day', groupBy: 'model' }, { tags: ['tag-7'] }),
      NaN
    ],
    [
      '30 days of one project by end user',
      ofDays(30, { bucket: 'day', groupBy: 'end_user' }, { projects: ['project-1'] }),
      NaN
    ],
    [
      '30 days of one end user by tag, of records',
      narrowed(30, { endUsers: ['user-7'] }, { bucket: 'day', groupBy: 'tag' }),
      NaN
    ],
    [
      'headgate usage --since 90d --by session',
      async () =>
        (await usageTotals(query, endMs - days * dayMs, ['session'])).totals.reduce(
          (sum, { sums }) => sum + sums.calls,
          0
        ),
      days
    ],
    ['first page of the calls', async () => (await listCalls(query, {}, { limit: 50 })).data.length, NaN]
  ]
  let isFast = true
  for (const [name, run, length] of reports) {
    let slowest = 0
    for (let turn = 0; turn < 3; turn++) {
      const { result, ms } = await timed(run)
      slowest = Math.max(slowest, ms)
      if (result === 0 || Math.abs(result - (length * rows) / days) > 1) {
        throw new Error(`${name}: ${result} calls`)
      }
    }
    isFast &&= slowest < limitMs
    console.log(`${name.padEnd(44)} ${slowest.toFixed(0).padStart(6)} ms`)
  }
  return isFast
}

/** Reads the time of the last record; `undefined` if there is no store. */
function newestOfSqlite (): number | undefined {
  if (!existsSync(databasePath(directory))) return undefined
  const file = new DatabaseSync(databasePath(directory), { readOnly: true })
  const ms = Number(file.prepare('select max(at_ms) as ms from usage').get()?.['ms'])
  file.close()
  return ms
}

async function newestOfPostgres (url: string): Promise<number | undefined> {
  const { Client } = await import('pg')
  const client = new Client(url)
  await client.connect()
  try {
    const { rows: tables } = await client.query("select 1 where to_regclass('usage') is not null")
    if (tables.length === 0) return undefined
    const { rows: [newest] } = await client.query<{ ms: string }>('select max(at_ms) as ms from usage')
    return Number(newest?.ms)
  } finally {
    await client.end()
  }
}

async function fillSqlite (): Promise<void> {
  const path = databasePath(directory)
  mkdirSync(directory, { recursive: true })
  createPrivately(path)
  const file = new DatabaseSync(path)
  file.exec('pragma journal_mode = wal; pragma synchronous = off')
  migrateSqlite(file, before)
  file.exec(keys())
  for (let from = 0; from < rows; from += stepRows) file.exec(records(from))
  file.exec(rollups?.sql ?? '')
  file.exec('pragma wal_checkpoint(truncate)')
  file.close()
}

async function fillPostgres (url: string): Promise<void> {
  const { Client } = await import('pg')
  const client = new Client(url)
  await client.connect()
  try {
    // The methods of a pool connection that are used here.
    await migratePostgres(Object.assign(client, { release: () => undefined }), before)
    const partitions = new Partitions({
      use: async work => await work(Object.assign(client, { release: () => undefined }))
    })
    await partitions.make(Array.from({ length: days + 1 }, (_, day) => endMs - day * dayMs))
    await client.query(keys())
    for (let from = 0; from < rows; from += stepRows) await client.query(records(from))
    await client.query((rollups?.postgres?.(rollups.sql) ?? '').replaceAll('without rowid', ''))
    await client.query('analyze usage')
  } finally {
    await client.end()
  }
}

function keys (): string {
  const projects = Array.from({ length: 5 }, (_, index) => `('project-${index}', 'Project ${index}', 0)`)
  const listed = Array.from(
    { length: 100 },
    (_, index) => `('key-${index}', 'Key ${index}', 'digest-${index}', 0, 'project-${index % 5}')`
  )
  return `insert into projects (id, name, created_at_ms) values ${projects.join(', ')};
    insert into keys (id, name, digest, created_at_ms, project_id) values ${listed.join(', ')}`
}

/**
 * Returns the statement that writes some records, in the order of their time; `h` stands for a random number.
 */
function records (from: number): string {
  const until = Math.min(rows, from + stepRows)
  return `insert into usage (id, call_id, at_ms, key_id, endpoint, requested_model, model, provider, outcome, status, error_code, streamed, attempts,
      prompt_tokens, completion_tokens, cached_tokens, estimated, cost_nano_usd, own_provider_key, duration_ms, first_byte_ms, end_user, session, tags)
    with recursive numbers (n) as (select cast(${from} as bigint) union all select n + 1 from numbers where n + 1 < ${until}),
      chances as (select n, (n * 7919 + 104729) % 1000003 as h from numbers),
      chosen as (select n, h, h % 100 as key, (h % 100 * 7 + h / 100 % 3) % 20 as model from chances)
    select 'row-' || n, 'req-' || n, cast(${endMs - days * dayMs} + n * ${everyMs} as bigint), 'key-' || key, case when model % 10 = 0 then 'embeddings' else 'chat' end,
      'model-' || model, 'p' || (model % 5) || '/model-' || model, 'p' || (model % 5), case when h % 50 = 0 then 'error' else 'ok' end,
      case when h % 50 = 0 then 502 else 200 end, case when h % 50 = 0 then 'upstream_error' end, h % 2, 1, 200 + h % 4000, h % 900, 0, case when h % 20 = 0 then 1 else 0 end,
      1000 * (h % 5000), 0, 150 + (h / 100) % 97 * (h % 89), 80 + (h / 100) % 1499,
      'user-' || (h / 7 % 2000), 'session-' || (n / 2000) || '-' || key, '["tag-' || (h / 100 % 100) || '"]'
    from chosen`
}

async function timed<T> (run: () => Promise<T>): Promise<{ readonly result: T, readonly ms: number }> {
  const startMs = performance.now()
  const result = await run()
  return { result, ms: performance.now() - startMs }
}

function seconds (ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
