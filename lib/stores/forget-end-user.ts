/**
 * Deletes what the store has of an end user: bodies of calls, stored responses and deferred completions. The
 * usage records of their calls stay without what says whom they were made for, so that sums and budgets stay
 * right.
 *
 * Each step is a few rows, so gateways that use the store go on. What was interrupted is begun again.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import { CallBodyStore } from './call-body-store.ts'
import { LongTexts } from './long-texts.ts'
import { ResponseRoom } from './response-room.ts'
import { retryWhenLocked } from './retry-when-locked.ts'
import type { Database } from './database.ts'

/** Counts what was there. */
export interface Forgotten {
  /** Usage records. */
  readonly calls: number
  readonly responses: number
  /** Of these, those that a provider keeps as well, where they are not deleted. */
  readonly atProviders: number
  readonly deferred: number
}

const stepRows = 100

/** @param endUser the name, exactly as it was recorded */
export async function forgetEndUser (database: Database, endUser: string): Promise<Forgotten> {
  const { query } = database
  const texts = new LongTexts(query, retryWhenLocked)
  const room = new ResponseRoom(query, retryWhenLocked, texts)
  const bodies = new CallBodyStore(database)

  const calls = await inSteps(async () => {
    const rows = await query.selectFrom('usage').select('id').where('end_user', '=', endUser).limit(stepRows)
      .execute()
    const ids = rows.map(({ id }) => id)
    if (ids.length === 0) return []
    await bodies.empty(ids) // first: only these records say whose they are
    // Messages of errors may quote a value of the request.
    const blank = { end_user: null, session: null, tags: null, metadata: null, steps: null, parties: null }
    await retryWhenLocked(
      async () =>
        await query.updateTable('usage').set(blank).where('end_user', '=', endUser).where('id', 'in', ids)
          .execute()
    )
    return ids
  })

  let atProviders = 0
  const responses = await inSteps(async () => {
    const rows = await query.selectFrom('responses').select(['id', 'origin']).where('end_user', '=', endUser)
      .limit(stepRows).execute()
    await room.drop(rows.map(({ id }) => id))
    atProviders += rows.filter(({ origin }) => origin !== null).length
    return rows
  })

  const deferred = await inSteps(async () => {
    const rows = await query.selectFrom('deferred').select('id').where('end_user', '=', endUser)
      .limit(stepRows).execute()
    const ids = rows.map(({ id }) => id)
    if (ids.length === 0) return []
    await texts.remove(ids)
    await retryWhenLocked(async () => await query.deleteFrom('deferred').where('id', 'in', ids).execute())
    return ids
  })
  return { calls, responses, atProviders, deferred }
}

/** Takes steps until one finds nothing. @returns how many rows they found */
async function inSteps (step: () => Promise<readonly unknown[]>): Promise<number> {
  let all = 0
  for (;;) {
    const found = await step()
    if (found.length === 0) return all
    all += found.length
    await yieldFairly()
  }
}
