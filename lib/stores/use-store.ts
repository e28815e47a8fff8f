import { GatewayError } from '../core/errors.ts'
import { retryWhenLocked } from './retry-when-locked.ts'
import { isDatabaseError } from './store-error.ts'
import type { Database } from './database.ts'

/** Runs one statement on the store. */
export type UseStore = <T>(work: () => Promise<T>) => Promise<T>

/** `retry-after` when the store cannot be used, in seconds. */
const retryAfterSeconds = 5

/**
 * Returns a function that runs statements and waits for locks without blocking the process. It throws
 * `overloaded` if the store stays locked, is full or was deleted.
 *
 * @param subject of the sentence for callers, in the plural: `Deferred completions`
 */
export function statementRunner (database: Pick<Database, 'storeFileIntact'>, subject: string): UseStore {
  const unavailable = (cause: unknown): GatewayError => new GatewayError('overloaded', {
    message: `${subject} are temporarily unavailable. Try again later.`, retryAfterSeconds, cause
  })
  return async work => {
    if (!database.storeFileIntact()) throw unavailable('the file of the store was deleted or replaced')
    try {
      return await retryWhenLocked(work)
    } catch (error) {
      throw isDatabaseError(error) ? unavailable(error) : error
    }
  }
}
