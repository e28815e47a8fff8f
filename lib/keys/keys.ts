/** What pipelines ask of the key store. */

import type { ApiKey } from '../core/key.ts'

export interface Keys {
  /**
   * The key behind what a caller presented; `undefined` for a missing, wrong, disabled or expired
   * one alike. Synchronous: the store is read at start-up and kept up to date, never per call.
   */
  readonly check: (presented: string) => ApiKey | undefined
  /**
   * The key of this id while it may be used: for work that goes on without its caller. A store
   * without it lets such work go on with what the key could do when it was accepted.
   */
  readonly find?: (id: string) => ApiKey | undefined
}
