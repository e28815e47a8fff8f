/** The part of the key store that pipelines need. */

import type { ApiKey } from '../core/key.ts'

export interface Keys {
  /**
   * Returns the key that a caller presented; `undefined` for a missing, wrong, revoked or expired one.
   * Synchronous: the store is read at start-up and kept up to date, never per call.
   */
  readonly check: (presented: string) => ApiKey | undefined
  /**
   * Returns the active key with this id, for work that continues without its caller. With a store that lacks
   * this method, such work continues with the rights at the time it was accepted.
   */
  readonly find?: (id: string) => ApiKey | undefined
}
