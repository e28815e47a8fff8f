/** Defines what pipelines need of the key store. */

import type { ApiKey } from '../core/key.ts'

export interface Keys {
  /**
   * Returns the key a caller presented; `undefined` for a missing, wrong, revoked or expired one alike.
   * Synchronous: the store is read at start-up and kept up to date, never per call.
   */
  readonly check: (presented: string) => ApiKey | undefined
  /**
   * Returns the active key with this id, for work that continues without its caller. A store without this
   * method lets such work continue with the rights the key had when the work was accepted.
   */
  readonly find?: (id: string) => ApiKey | undefined
}
