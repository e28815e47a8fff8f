/** Everything about deferred completions that outlives a call and a configuration. */

import { EventEmitter } from 'node:events'
import { randomUUID } from 'node:crypto'
import { DeferredStore } from './deferred-store.ts'
import { SealedIds } from './deferred-id.ts'
import type { Database } from '../stores/database.ts'

interface DeferredEvents {
  /** A task waits to be run. */
  added: []
  /** Nobody wants this task any more: its id in the store. */
  cancelled: [id: string]
}

export interface Deferrals {
  readonly store: DeferredStore
  readonly seal: SealedIds
  /** What this process calls itself in the store. */
  readonly owner: string
  /** What happens in this process; others find out by looking. */
  readonly events: EventEmitter<DeferredEvents>
}

/** @throws StoreError and the errors of the store */
export async function openDeferrals (database: Pick<Database, 'query'>): Promise<Deferrals> {
  const store = new DeferredStore(database)
  return { store, seal: new SealedIds(await store.secret()), owner: randomUUID(), events: new EventEmitter() }
}
