/** Creates the key of a gateway that is started for the first time. */

import { DuplicateKeyNameError, type KeyStore } from '../keys/key-store.ts'

/**
 * Creates a key if there never was one, configured or stored. Revoked keys count: an operator who revoked
 * them all wants no caller.
 *
 * @returns the text of the new key, if one was created
 */
export async function createFirstKey (keys: KeyStore): Promise<string | undefined> {
  if ((await keys.list()).length > 0) return undefined
  try {
    return (await keys.create({ name: 'first' })).key
  } catch (error) {
    // Another gateway with the same store started at the same moment and has printed it.
    if (error instanceof DuplicateKeyNameError) return undefined
    throw error
  }
}
