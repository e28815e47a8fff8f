/** Measures how many usage records a second one node ships from its journal to PostgreSQL and to SQLite. */

import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CompiledQuery } from 'kysely'
import { isSqlite, type Database } from '../../lib/stores/database.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { importJournal } from '../../lib/usage/import-journals.ts'
import { cpuUs } from '../../lib/load/process-cost.ts'
import { table } from '../support/report.ts'
import { median } from '../support/statistics.ts'
import { postgresStore, type Servers } from './servers.ts'
import { emptyRow } from '../../lib/stores/usage-columns.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

const rows = 200_000
const times = 3

export async function ledger (servers: Servers): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-ledger-'))
  const shown: string[][] = []
  for (const name of ['PostgreSQL', 'SQLite']) {
    const database: Database =
      name === 'SQLite'
        ? await openDatabase(directory)
        : await openDatabase(postgresStore(servers, directory))
    const rates: number[] = []
    const nodeUs: number[] = []
    const postgresBefore = cpuUs(servers.postgresPid())
    let rowBytes = 0
    for (let time = 0; time < times; time++) {
      const path = join(directory, 'usage-bench.jsonl')
      writeFileSync(
        path,
        Array.from(
          { length: rows },
          (_, number) => `${JSON.stringify(rowOf(`${name}-${time}-${number}`))}\n`
        ).join('')
      )
      rowBytes = statSync(path).size / rows
      const [startMs, cpu] = [performance.now(), process.cpuUsage()]
      let imported = 0
      await importJournal(database, path, {
        onImported: (_, count) => {
          imported = count
        },
        onFailure: (_, error) => {
          throw error
        }
      })
      const { user, system } = process.cpuUsage(cpu)
      if (imported !== rows) throw new Error(`${imported} of ${rows} rows were written`)
      rates.push(rows / (performance.now() - startMs) * 1000)
      nodeUs.push((user + system) / rows)
    }
    const isServer = name === 'PostgreSQL'
    const postgresUs = (cpuUs(servers.postgresPid()) - postgresBefore) / rows / times
    const storedBytes = await sizeOf(database) / rows / times
    await database.close()
    shown.push([
      name,
      Math.round(median(rates)).toLocaleString('en'),
      median(nodeUs).toFixed(1),
      isServer ? postgresUs.toFixed(1) : '',
      rowBytes.toFixed(0),
      storedBytes.toFixed(0),
      isServer ? '≥ 20,000' : ''
    ])
  }
  rmSync(directory, { recursive: true })
  return table(
    `the journal of one node, ${rows.toLocaleString('en')} records`,
    [
      '',
      'rows a second',
      'CPU µs of the node per row',
      'of PostgreSQL',
      'bytes of a row in the journal',
      'in the store, with indexes',
      'target'
    ],
    shown
  )
}

/** Returns the bytes of all records and their indexes; for SQLite, those of the file. */
async function sizeOf (database: Database): Promise<number> {
  if (isSqlite(database)) {
    await database.query.executeQuery(CompiledQuery.raw('pragma wal_checkpoint(truncate)'))
    return statSync(database.path).size
  }
  const {
    rows: [row]
  } = await database.query.executeQuery<{ bytes: number }>(
    CompiledQuery.raw(
      "select sum(pg_total_relation_size(inhrelid)) as bytes from pg_inherits where inhparent = 'usage'::regclass"
    )
  )
  return row?.bytes ?? 0
}

function rowOf (id: string): UsageRow {
  return {
    ...emptyRow,
    id: `${id}-0123456789abcdef`,
    call_id: `de5623b5-0d4e-4f5b-9d5a-${id}`,
    at_ms: Date.now(),
    key_id: `key-${id.length % 100}`,
    endpoint: 'chat',
    requested_model: 'mock/json',
    model: 'mock/json',
    provider: 'mock',
    outcome: 'ok',
    status: 200,
    turns: 1,
    prompt_tokens: 250,
    completion_tokens: 180,
    cached_tokens: 0,
    reasoning_tokens: 0,
    estimated: 0,
    cost_nano_usd: 610_000,
    duration_ms: 1200,
    first_byte_ms: 340
  }
}
