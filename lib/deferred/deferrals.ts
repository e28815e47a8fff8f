/** The state of deferred completions that outlives a call and a configuration. */

import { EventEmitter } from 'node:events'
import { randomUUID } from 'node:crypto'
import { DeferredStore } from './deferred-store.ts'
import { SealedTickets } from './sealed-tickets.ts'
import { storeSecret } from '../stores/store-secret.ts'
import type { Database } from '../stores/database.ts'

interface DeferredEvents {
  /** A task is waiting. */
  added: []
  /** The caller cancelled this task: its id in the store. */
  cancelled: [id: string]
}

export interface Deferrals {
  readonly store: DeferredStore
  readonly tickets: SealedTickets
  /** The store's secret, 32 bytes: all processes that use the store have it. */
  readonly secret: Buffer
  /** The name of this process in the store. */
  readonly owner: string
  /** Emits events of this process; other processes poll the store. */
  readonly events: EventEmitter<DeferredEvents>
}

/**
 * Opens the store of deferred completions.
 *
 * @throws the errors of the database
 */
export async function openDeferrals (
  database: Pick<Database, 'query' | 'storeFileIntact' | 'skipLocked' | 'lockRows' | 'now'>
): Promise<Deferrals> {
  const store = new DeferredStore(database)
  const secret = await storeSecret(database.query)
  return {
    store,
    tickets: new SealedTickets(secret),
    secret,
    owner: randomUUID(),
    events: new EventEmitter()
  }
}
