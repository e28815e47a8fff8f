/** Stores usage rows in PostgreSQL and adds them to the sums by hour, day and name and to spending. */

import type { PoolClient } from 'pg'
import { dayMs } from '../../core/day.ts'
import {
  amounts,
  countSql,
  isNamed,
  isSummed,
  rollupDimensions,
  rollupDurations,
  rollupKey,
  rollupSpans,
  rollupSums
} from '../usage-rollups.ts'
import { partySpans } from '../party-spending.ts'
import { isReplaced } from '../replaced-row.ts'
import { usageColumns } from '../usage-columns.ts'
import { addingNames, daysOf, deleteEmptyNames, noteNames, type RunSql } from './add-names.ts'
import { givenRows } from './given-rows.ts'
import type { ServerConnections } from './server-connections.ts'
import type { Partitions } from './partitions.ts'
import type { UsageRow } from '../tables.ts'

const columns = usageColumns.join(', ')

const durations = Object.keys(rollupDurations)
const rollupColumns = [...rollupKey, ...rollupSums, ...durations].join(', ')

/**
 * Returns the CTEs that add rows to the spending of their keys and to the sums by hour and day. They write in
 * key order, so that two gateways that update the same sums cannot deadlock.
 *
 * @param times SQL before each amount
 */
const adding = (rows: string, times = ''): string => `
  spent as (
    insert into spending (key_id, day_ms, cost_nano_usd)
      select key_id, at_ms - at_ms % ${dayMs} as day_ms, sum(${times}cost_nano_usd) from ${rows}
      where cost_nano_usd <> 0 group by 1, 2 order by 1, 2
    on conflict (key_id, day_ms) do update set cost_nano_usd = spending.cost_nano_usd + excluded.cost_nano_usd
  ), counted as (
    insert into party_spending (span_ms, party, from_ms, cost_nano_usd)
      select span_ms, party.value, at_ms - at_ms % span_ms as from_ms, sum(${times}cost_nano_usd) from ${rows}
      cross join json_each(parties) as party
      cross join (values ${partySpans.map(span => `(${span})`).join(', ')}) as spans (span_ms)
      where cost_nano_usd <> 0 group by 1, 2, 3 order by 1, 2, 3
    on conflict (span_ms, party, from_ms) do update set cost_nano_usd = party_spending.cost_nano_usd + excluded.cost_nano_usd
  ), used as (
    insert into usage_rollups (${rollupColumns})
      select span_ms, at_ms - at_ms % span_ms, ${Object.values(rollupDimensions).join(', ')},
        ${rollupSums.map(name => `sum(${times}${amounts[name].sql})`).join(', ')},
        ${Object.values(rollupDurations)
          .map(duration => `added_durations(string_agg(${countSql(duration)}, ','))`)
          .join(', ')}
      from ${rows} cross join (values ${rollupSpans.map(span => `(${span})`).join(', ')}) as spans (span_ms)
      where ${isSummed.sql}
      group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
    on conflict (${rollupKey.join(', ')}) do update set
      ${rollupSums.map(name => `${name} = usage_rollups.${name} + excluded.${name}`).join(', ')},
      ${durations.map(name => `${name} = added_durations(concat_ws(',', usage_rollups.${name}, excluded.${name}))`).join(', ')}
  )`

const insertWith = (parts: string): string => `
  with added as (
    insert into usage (${columns}) ${givenRows}
    on conflict (at_ms, id) do nothing returning *
  ), ${parts}
  select count(*) as written from added`
/** All rows in one statement and one value, so that a batch takes one round trip. */
const insert = insertWith(adding('added'))
const insertNamed = insertWith(`${adding('added')}, ${addingNames('added', '1::bigint')}`)

/** Replaces earlier rows of the same calls and adds the difference to the sums. */
const replace = `
  with given as (
    ${givenRows}
  ), earlier as (
    select usage.* from usage join given using (at_ms, id) where ${isReplaced('given.outcome', 'given.duration_ms')} order by at_ms, id for update of usage
  ), later as (
    update usage set ${usageColumns.map(column => `${column} = given.${column}`).join(', ')}
    from given join earlier using (at_ms, id) where usage.at_ms = given.at_ms and usage.id = given.id returning usage.*
  ), changes as (
    select 1 as sign, ${columns} from later
    union all select -1, ${columns} from earlier where (at_ms, id) in (select at_ms, id from later)
  ), ${adding('changes', 'sign * ')}, ${addingNames('changes', 'sign')}
  select count(*) as written from later`

/** Deletes sums without calls: those of a model that was replaced in the final row. */
const deleteEmpty = `
  delete from usage_rollups where span_ms in (${rollupSpans.join(', ')}) and from_ms = any ($1::bigint[]) and key_id = any ($2::text[]) and calls <= 0`

/**
 * Writes rows and adds them to the sums by hour, day and name and to the spending of their keys.
 *
 * Existing rows are kept and count once. The row of an open call is replaced by a later one.
 *
 * @returns the number of written rows
 */
export async function insertUsage (
  server: Pick<ServerConnections, 'use'>,
  partitions: Partitions,
  rows: readonly UsageRow[]
): Promise<number> {
  await partitions.make(rows.map(({ at_ms: atMs }) => atMs))
  try {
    const added = await write(server, rows.some(isNamed) ? insertNamed : insert, rows)
    return added === rows.length ? added : added + await replaceRows(server, rows)
  } catch (error) {
    // another gateway may have dropped a needed partition, which the next attempt creates again
    partitions.forget()
    throw error
  }
}

/** Writes new rows like `insertUsage`, within a transaction. Their partitions must exist. */
export async function insertUsageWithin (run: RunSql, rows: readonly UsageRow[]): Promise<void> {
  const json = JSON.stringify(rows)
  if (rows.some(isNamed)) await noteNames(run, json)
  await run(rows.some(isNamed) ? insertNamed : insert, [json])
}

async function replaceRows (
  server: Pick<ServerConnections, 'use'>,
  rows: readonly UsageRow[]
): Promise<number> {
  const firsts = new Map<string, UsageRow>() // of rows with the same id the first one counts
  for (const row of rows) if (!firsts.has(row.id)) firsts.set(row.id, row)
  const replaced = await write(server, replace, [...firsts.values()])
  if (replaced > 0) {
    const spans = rows.flatMap(({ at_ms: atMs }) => rollupSpans.map(spanMs => atMs - atMs % spanMs))
    const keys = rows.map(({ key_id: keyId }) => keyId)
    await server.use(async client => {
      await client.query(deleteEmpty, [[...new Set(spans)], [...new Set(keys)]])
      await client.query(deleteEmptyNames, [daysOf(rows)])
    })
  }
  return replaced
}

/** Runs one of the statements above. @returns the number of written rows */
async function write (
  server: Pick<ServerConnections, 'use'>,
  statement: string,
  rows: readonly UsageRow[]
): Promise<number> {
  const run = async (json: string): Promise<number> =>
    await server.use(async client => {
      if (rows.some(isNamed)) await inTransaction(client, async query => await noteNames(query, json))
      const {
        rows: [result]
      } = await client.query<{ written: number }>(statement, [json])
      return result?.written ?? 0
    })
  return await run(JSON.stringify(rows)).catch(async (error: unknown) => {
    if (isUntranslatable(error)) return await run(JSON.stringify(rows, translatable))
    throw error
  })
}

async function inTransaction (client: PoolClient, work: (run: RunSql) => Promise<void>): Promise<void> {
  await client.query('begin')
  try {
    await work(async (text, values) => (await client.query<object>(text, [...values])).rows)
    await client.query('commit')
  } catch (error) {
    // the connection may be what failed; the original error is more useful
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/**
 * Returns true if a text contains characters that PostgreSQL cannot store: callers can choose the name of a
 * model.
 */
function isUntranslatable (error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '22P05' || error.code === '22P02')
}

function translatable (_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value
}
