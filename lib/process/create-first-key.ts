/** Creates the key of a gateway at its first start. */

import type { PartyLimits } from '../core/key.ts'
import { DuplicateKeyNameError, type KeyStore } from '../keys/key-store.ts'
import type { Terminal } from './terminal.ts'

/** Enough to try a program; models on the operator's own servers have no price. */
const loggedKeyLimits: PartyLimits = {
  requestsPerMinute: 600,
  budget: { usd: 5, per: 'day', unpriced: 'allow' }
}

/**
 * Creates a key if there never was one, configured or stored. Revoked keys count: an operator who revoked all
 * keys wants no callers. If no person reads the terminal, the key ends up in a log that many may read, so it
 * gets limits.
 *
 * @returns the text of the new key, if one was created
 */
export async function createFirstKey (
  keys: KeyStore,
  { interactive }: Pick<Terminal, 'interactive'>
): Promise<string | undefined> {
  if ((await keys.list()).length > 0) return undefined
  try {
    return (await keys.create({ name: 'first', ...!interactive && { limits: loggedKeyLimits } })).key
  } catch (error) {
    // Another gateway with the same store started at the same moment, and has printed the key.
    if (error instanceof DuplicateKeyNameError) return undefined
    throw error
  }
}
