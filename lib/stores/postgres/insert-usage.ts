import { dayMs } from '../../usage/day.ts'
import { amounts, countSql, rollupDimensions, rollupDurations, rollupKey, rollupSpans, rollupSums } from '../usage-rollups.ts'
import { textColumns, usageColumns } from '../usage-columns.ts'
import type { ServerConnections } from './server-connections.ts'
import type { Partitions } from './partitions.ts'
import type { UsageRow } from '../tables.ts'

const columns = usageColumns.join(', ')
const typed = usageColumns.map(column => `${column} ${textColumns.has(column) ? 'text' : 'bigint'}`).join(', ')

const durations = Object.keys(rollupDurations)
const rollupColumns = [...rollupKey, ...rollupSums, ...durations].join(', ')

/**
 * All rows in one statement and one value, so that a batch is one round trip. What they add is written in the order of its rows:
 * two gateways that add to the same ones wait for each other instead of both for ever.
 */
const insert = `
  with added as (
    insert into usage (${columns}) select ${columns} from json_to_recordset($1) as given (${typed})
    on conflict (at_ms, id) do nothing returning *
  ), spent as (
    insert into spending (key_id, day_ms, cost_nano_usd)
      select key_id, at_ms - at_ms % ${dayMs} as day_ms, sum(cost_nano_usd) from added
      where cost_nano_usd <> 0 group by 1, 2 order by 1, 2
    on conflict (key_id, day_ms) do update set cost_nano_usd = spending.cost_nano_usd + excluded.cost_nano_usd
  ), used as (
    insert into usage_rollups (${rollupColumns})
      select span_ms, at_ms - at_ms % span_ms, ${Object.values(rollupDimensions).join(', ')},
        ${rollupSums.map(name => `sum(${amounts[name].sql})`).join(', ')},
        ${Object.values(rollupDurations).map(duration => `added_durations(string_agg(${countSql(duration)}, ','))`).join(', ')}
      from added cross join (values ${rollupSpans.map(span => `(${span})`).join(', ')}) as spans (span_ms)
      group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
    on conflict (${rollupKey.join(', ')}) do update set
      ${rollupSums.map(name => `${name} = usage_rollups.${name} + excluded.${name}`).join(', ')},
      ${durations.map(name => `${name} = added_durations(concat_ws(',', usage_rollups.${name}, excluded.${name}))`).join(', ')}
  )
  select count(*) as added from added`

/** Writes rows, and adds what they used to the sums of their hours and days and to the spending of their keys. @returns how many rows were not there */
export async function insertUsage (server: Pick<ServerConnections, 'use'>, partitions: Partitions, rows: readonly UsageRow[]): Promise<number> {
  await partitions.make(rows.map(({ at_ms: atMs }) => atMs))
  try {
    const added = async (json: string): Promise<number> => await server.use(async client => {
      const { rows: [result] } = await client.query<{ added: number }>(insert, [json])
      return result?.added ?? 0
    })
    return await added(JSON.stringify(rows)).catch(async (error: unknown) => {
      if (isUntranslatable(error)) return await added(JSON.stringify(rows, translatable))
      throw error
    })
  } catch (error) {
    partitions.forget() // another gateway may have dropped the one of a row, and the next attempt makes it again
    throw error
  }
}

/** Returns true where a text holds what no text of PostgreSQL can: a caller may choose the name of a model. */
function isUntranslatable (error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '22P05' || error.code === '22P02')
}

function translatable (_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value
}
