/** Adds rows to the sums of their names. */

import { dayMs, dayOf } from '../../core/day.ts'
import {
  allNames,
  nameBounds,
  nameRollupKey,
  otherNames,
  rollupKinds,
  type NameBound
} from '../name-rollups.ts'
import {
  amounts,
  countSql,
  isNamed,
  isSummed,
  projectSql,
  rollupDimensions,
  rollupDurations,
  rollupSums
} from '../usage-rollups.ts'
import type { UsageRow } from '../tables.ts'
import { givenRows } from './given-rows.ts'

const durations = Object.keys(rollupDurations)
const columns = [...nameRollupKey, ...rollupSums, ...durations].join(', ')

/** Runs a query and returns its rows. */
export type RunSql = (sql: string, values: readonly unknown[]) => Promise<readonly unknown[]>

const periods = {
  day: `at_ms - at_ms % ${dayMs}`,
  month: `
    (extract(epoch from date_trunc('month', to_timestamp(at_ms / 1000) at time zone 'UTC')) * 1000)::bigint`
} as const
const byKind = (value: (bound: NameBound) => string | number): string =>
  `case kind ${Object.entries(nameBounds)
    .map(([kind, bound]) => `when '${kind}' then ${value(bound)}`)
    .join(' ')} end`
const periodSql = byKind(({ period }) => periods[period])
const maxNamesSql = byKind(({ maxNames }) => maxNames)

/** Returns the SQL for the names of rows, one row per name, with its period. */
const namesOf = (rows: string): string => `
  select ${rows}.*, kind, given_name, ${projectSql(rows)} as project_id, ${periodSql} as period_ms
  from ${rows} cross join lateral (
    select 'end_user' as kind, end_user as given_name where end_user <> ''
    union all select 'session', session where session <> ''
    union all select 'tag', value from json_each(tags) as tag where value <> ''
    union all select 'tagged', '${allNames}' where exists (select 1 from json_each(tags) as tag where value <> '')
  ) as names
  where ${isSummed.sql}`

const isOfPeriod = (table: string): string => (
  `${table}.kind = named.kind and ${table}.from_ms = named.period_ms and ${table}.project_id = named.project_id`
)

/**
 * Returns the CTEs that add rows to the sums of their names, except rows before the end of the backlog. They
 * lock the backlog, so these statements and backlog steps wait for each other. Sums are written in key order,
 * like the others.
 *
 * @param times SQL for how often each row counts
 */
export const addingNames = (rows: string, times: string): string => `
  backlog as (
    select at_ms, id from rollup_backlog for share
  ), named as (
    select * from (${namesOf(rows)}) as named
    where not exists (select 1 from backlog where (named.at_ms, named.id) < (backlog.at_ms, backlog.id))
  ), by_name as (
    select named.*,
      case when known.name is null and others.name is not null then '${otherNames}' else given_name end as name
    from named
    left join counted_names known on ${isOfPeriod('known')} and known.name = given_name
    left join counted_names others on ${isOfPeriod('others')} and others.name = '${otherNames}'
  ), used_by_name as (
    insert into name_rollups (${columns})
      select kind, at_ms - at_ms % ${dayMs}, project_id, summed.name,
        case when kind in ('tag', 'tagged') then ${rollupDimensions.model} else '' end,
        ${rollupSums.map(name => `sum(${times} * ${amounts[name].sql})`).join(', ')},
        ${Object.values(rollupDurations)
          .map(duration => `added_durations(string_agg(${countSql(duration, times)}, ','))`)
          .join(', ')}
      from (select distinct on (at_ms, id, ${times}, kind, name) * from by_name) as once
      cross join lateral (select once.name union select '${allNames}') as summed (name)
      group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (${nameRollupKey.join(', ')}) do update set
      ${rollupSums.map(name => `${name} = name_rollups.${name} + excluded.${name}`).join(', ')},
      ${durations
        .map(name => `${name} = added_durations(concat_ws(',', name_rollups.${name}, excluded.${name}))`)
        .join(', ')}
  )`

/**
 * Looks up one name; for a join PostgreSQL might compare all names with each other. A caller may send the
 * name that stands for the others, which must not close the period.
 */
const found = (name: string): string => `
  select 1 from counted_names as known where ${isOfPeriod('known')} and known.name = ${name}`
const missing = `
  select distinct kind, period_ms, project_id, given_name from (${namesOf('given')}) as named
  where kind <> 'tagged' and given_name <> '${otherNames}'
    and (${found('given_name')}) is null and (${found(`'${otherNames}'`)}) is null`
const hasMissing = `with given as (${givenRows}) select 1 from (${missing}) as missing limit 1`
/**
 * Locks until the end of the transaction. The backlog comes first, because a backlog step already has it when
 * it records names.
 */
const lockBacklog = 'select 1 from rollup_backlog for share'
const lockNames = 'select pg_advisory_xact_lock(7403652)'
/** Updates the count of names once per period, however many are new. */
const noteMissing = `
  with given as (${givenRows}), missing as materialized (${missing}), taken as materialized (
    select named.kind, named.period_ms, named.project_id, count(known.name) as taken
    from (select distinct kind, period_ms, project_id from missing) as named
    left join counted_names as known on ${isOfPeriod('known')}
    group by 1, 2, 3
  )
  insert into counted_names (kind, from_ms, project_id, name)
    select kind, period_ms, project_id,
      case when taken + number <= ${maxNamesSql} then given_name else '${otherNames}' end
    from (
      select *, row_number() over (partition by kind, period_ms, project_id order by given_name) as number
      from missing
    ) as numbered join taken using (kind, period_ms, project_id)
  on conflict do nothing`

/**
 * Records which names of rows are distinguished, before the rows are added. Once `(other)` is among the names
 * of a period it accepts no more, so the set stays the same, even if some are deleted.
 *
 * @param run runs queries in one transaction
 * @param json the rows
 */
export async function noteNames (run: RunSql, json: string): Promise<void> {
  if ((await run(hasMissing, [json])).length === 0) return
  await run(lockBacklog, [])
  await run(lockNames, [])
  await run(noteMissing, [json])
}

/**
 * Adds stored rows, or subtracts them with -1.
 *
 * @param run runs queries in one transaction
 */
export async function addNames (run: RunSql, rows: readonly UsageRow[], sign: 1 | -1): Promise<void> {
  const named = rows.filter(isNamed)
  if (named.length === 0) return
  const json = JSON.stringify(named)
  await noteNames(run, json)
  await run(addGiven, [json, sign])
  if (sign < 0) await run(deleteEmptyNames, [daysOf(rows)])
}

const addGiven = `
  with given as (${givenRows}), signed as (select given.*, $2::bigint as sign from given),
  ${addingNames('signed', 'sign')}
  select 1`

/** Deletes sums without calls on some days. */
export const deleteEmptyNames = `
  delete from name_rollups where kind in (${rollupKinds.map(kind => `'${kind}'`).join(', ')})
    and from_ms = any ($1::bigint[]) and calls <= 0`

/** Lists the days of rows. */
export function daysOf (rows: readonly UsageRow[]): number[] {
  return [...new Set(rows.map(({ at_ms: atMs }) => dayOf(atMs)))]
}
