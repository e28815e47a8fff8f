/**
 * Holds what the admin API works with: one per process, whatever its configuration. Opened when first needed.
 */

import { WorkQueue } from '../async/work-queue.ts'
import type { LiveConfiguration } from '../config/live-configuration.ts'
import type { KeyStore } from '../keys/key-store.ts'
import { ManagedKeys } from '../keys/managed-keys.ts'
import { CallBodyStore } from '../stores/call-body-store.ts'
import { isSqlite, type Database } from '../stores/database.ts'
import { recordedNames } from '../stores/end-user-digests.ts'
import { statementRunner } from '../stores/use-store.ts'
import { Reports } from '../usage/reports.ts'
import { Accounts } from './accounts.ts'

/** Reports for people that PostgreSQL computes at a time. */
const maxReports = 4

export class Admin {
  readonly accounts: Accounts
  readonly keys: ManagedKeys
  readonly reports: Reports
  /** Queues reports fairly: a user who requests many, or slow ones, does not delay others. */
  readonly reportSlots: WorkQueue
  readonly bodies: CallBodyStore
  /** Lists the names under which records may have an end user. */
  readonly namesOfEndUser: (endUser: string) => Promise<readonly string[]>

  /** Absent for a gateway embedded in another program. */
  readonly configuration: LiveConfiguration | undefined

  constructor (database: Database, keys: KeyStore, configuration?: LiveConfiguration) {
    this.configuration = configuration
    this.accounts = new Accounts(database)
    this.reports = new Reports(database)
    // The thread of SQLite computes one report at a time, and loses waiting ones if one takes too long.
    this.reportSlots = new WorkQueue(isSqlite(database) ? 1 : maxReports)
    this.bodies = new CallBodyStore(database)
    this.namesOfEndUser = async endUser => await recordedNames(database.query, endUser)
    this.keys = new ManagedKeys(keys, database.query, statementRunner(database, 'Keys'))
  }
}
