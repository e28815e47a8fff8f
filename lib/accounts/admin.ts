/**
 * Holds what the admin API works with: one for a process, whatever its configuration. Opened when it is first
 * needed.
 */

import type { LiveConfiguration } from '../config/live-configuration.ts'
import type { KeyStore } from '../keys/key-store.ts'
import { StoredKeys } from '../keys/stored-keys.ts'
import { CallBodyStore } from '../stores/call-body-store.ts'
import type { Database } from '../stores/database.ts'
import { recordedNames } from '../stores/end-user-digests.ts'
import { storeUser } from '../stores/use-store.ts'
import { Reports } from '../usage/reports.ts'
import { Accounts } from './accounts.ts'

export class Admin {
  readonly accounts: Accounts
  readonly keys: StoredKeys
  readonly reports: Reports
  readonly bodies: CallBodyStore
  /** Lists the names that records may have of an end user. */
  readonly namesOfEndUser: (endUser: string) => Promise<readonly string[]>

  /** Absent where the gateway is part of another program. */
  readonly configuration: LiveConfiguration | undefined

  constructor (database: Database, keys: KeyStore, configuration?: LiveConfiguration) {
    this.configuration = configuration
    this.accounts = new Accounts(database)
    this.reports = new Reports(database)
    this.bodies = new CallBodyStore(database)
    this.namesOfEndUser = async endUser => await recordedNames(database.query, endUser)
    this.keys = new StoredKeys(keys, database.query, storeUser(database, 'Keys'))
  }
}
