/**
 * Deletes what the store has of an end user: call bodies, stored responses and deferred completions. Usage
 * rows stay without their attribution, so that sums and budgets remain correct.
 *
 * Each step covers a few rows, so gateways on the store keep running. An interrupted deletion can be
 * repeated.
 */

import { sql, type Kysely } from 'kysely'
import { attributionNames } from '../../schemas/admin/usage.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { CallBodyStore } from './call-body-store.ts'
import { LongTexts } from './long-texts.ts'
import { recordedNames } from './end-user-digests.ts'
import { allNames, daysOf, nameRollupKey, namesOf, otherNames, namePeriodStart } from './name-rollups.ts'
import { sumCountsSqlite, sumCountsPostgres, negatedCountsSql } from './percentiles.ts'
import { ResponseRoom } from './response-room.ts'
import { retryWhenLocked } from './retry-when-locked.ts'
import { rollupDurations, rollupSums } from './usage-rollups.ts'
import { isSqlite, type Database } from './database.ts'
import type { Tables, UsageRow } from './tables.ts'

/** Numbers of deleted objects. */
export interface Forgotten {
  /** Usage records. */
  readonly calls: number
  readonly responses: number
  /** Responses that a provider also keeps and that were not deleted there. */
  readonly atProviders: number
  readonly deferred: number
}

const stepRows = 100

/** @param endUser the exact name as recorded, or the name whose digest was recorded */
export async function forgetEndUser (database: Database, endUser: string): Promise<Forgotten> {
  const { query } = database
  const names = await recordedNames(query, endUser)
  const room = new ResponseRoom(query, retryWhenLocked, new LongTexts(database, retryWhenLocked, 'responses'))
  const deferredTexts = new LongTexts(database, retryWhenLocked, 'deferred')
  const bodies = new CallBodyStore(database)

  const calls = await inSteps(async () => {
    const rows = await query.selectFrom('usage').select('id').where('end_user', 'in', names).limit(stepRows)
      .execute()
    const ids = rows.map(({ id }) => id)
    if (ids.length === 0) return []
    await bodies.empty(ids) // first, because only these records identify the owner
    await retryWhenLocked(async () => await forgetNames(database, names, ids))
    return ids
  })
  await retryWhenLocked(async () => await forgetSums(database, names))

  let atProviders = 0
  const responses = await inSteps(async () => {
    const rows = await query.selectFrom('responses').select(['id', 'origin']).where('end_user', 'in', names)
      .limit(stepRows).execute()
    await room.delete(rows.map(({ id }) => id))
    atProviders += rows.filter(({ origin }) => origin !== null).length
    return rows
  })

  const deferred = await inSteps(async () => {
    const rows = await query.selectFrom('deferred').select('id').where('end_user', 'in', names)
      .limit(stepRows).execute()
    const ids = rows.map(({ id }) => id)
    if (ids.length === 0) return []
    await deferredTexts.end(ids)
    await retryWhenLocked(async () => await query.deleteFrom('deferred').where('id', 'in', ids).execute())
    return ids
  })
  return { calls, responses, atProviders, deferred }
}

/** Removes the attribution from an end user's records, and their amounts from the sums by these names. */
async function forgetNames (
  database: Database,
  names: readonly string[],
  ids: readonly string[]
): Promise<void> {
  await database.transaction([], async ({ query, addNames }) => {
    const rows = await database.lockRows(
      query.selectFrom('usage').selectAll().where('end_user', 'in', names).where('id', 'in', ids)
        .orderBy('at_ms').orderBy('id')
    ).execute()
    await addNames(rows, -1)
    // Error messages may quote values of the request.
    const blank = { end_user: null, session: null, tags: null, metadata: null, steps: null, parties: null }
    await query.updateTable('usage').set(blank).where('end_user', 'in', names).where('id', 'in', ids)
      .execute()
    await forgetUnused(query, rows)
  })
}

/** Removes names from records that are no longer in any sum. */
async function forgetUnused (query: Kysely<Tables>, rows: readonly UsageRow[]): Promise<void> {
  const named = rows.flatMap(row => attributionNames.flatMap(kind => (
    namesOf(row)[kind].map(name => [kind, namePeriodStart(kind, row.at_ms), name] as const)
  )))
  for (const [kind, fromMs, name] of new Map(named.map(each => [each.join('\0'), each])).values()) {
    await query.deleteFrom('counted_names')
      .where('kind', '=', kind).where('from_ms', '=', fromMs).where('name', '=', name)
      .where(counted => counted.not(counted.exists(
        counted.selectFrom('name_rollups').select('name_rollups.name')
          .where('name_rollups.kind', '=', kind).where('name_rollups.from_ms', 'in', daysOf(kind, fromMs))
          .whereRef('name_rollups.project_id', '=', 'counted_names.project_id')
          .where('name_rollups.name', '=', name)
      )))
      .execute()
  }
}

/** Deletes the sums of an end user. Its records are deleted, so no remaining calls belong to them. */
async function forgetSums (database: Database, recorded: readonly string[]): Promise<void> {
  const names = recorded.filter(name => name !== otherNames) // this sum includes other users
  if (names.length === 0) return
  await database.transaction([], async ({ query }) => {
    await takeFromAll(database, query, names)
    await query.deleteFrom('name_rollups').where('kind', '=', 'end_user').where('name', 'in', names).execute()
    await query.deleteFrom('counted_names').where('kind', '=', 'end_user').where('name', 'in', names)
      .execute()
  })
}

const durations = Object.keys(rollupDurations)

/** Subtracts the sums of end users from the sums over all names. */
async function takeFromAll (
  database: Database,
  query: Kysely<Tables>,
  names: readonly string[]
): Promise<void> {
  const addedCounts = isSqlite(database) ? sumCountsSqlite : sumCountsPostgres
  const columns = [...nameRollupKey, ...rollupSums, ...durations].join(', ')
  const taken = [
    ...rollupSums.map(name => `-sum(${name})`),
    ...durations.map(name => negatedCountsSql(`string_agg(${name}, ',')`))
  ]
  const added = [
    ...rollupSums.map(name => `${name} = name_rollups.${name} + excluded.${name}`),
    ...durations.map(name => {
      const counts = `concat_ws(',', name_rollups.${name}, excluded.${name})`
      return `${name} = ${addedCounts(counts)}`
    })
  ]
  await sql`insert into name_rollups (${sql.raw(columns)})
    select kind, from_ms, project_id, ${allNames}, model, ${sql.raw(taken.join(', '))} from name_rollups
    where kind = 'end_user' and name in (${sql.join(names)}) group by kind, from_ms, project_id, model
    order by kind, from_ms, project_id, model
    on conflict (${sql.raw(nameRollupKey.join(', '))}) do update set ${sql.raw(added.join(', '))}`
    .execute(query)
  await query.deleteFrom('name_rollups')
    .where('kind', '=', 'end_user').where('name', '=', allNames).where('calls', '<=', 0).execute()
}

/** Repeats a step until it finds nothing. @returns the total number of rows found */
async function inSteps (step: () => Promise<readonly unknown[]>): Promise<number> {
  let all = 0
  for (;;) {
    const found = await step()
    if (found.length === 0) return all
    all += found.length
    await yieldFairly()
  }
}
