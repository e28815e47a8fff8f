/** The key of a gateway that was started for the first time. */

import { KeyNameError, type KeyStore } from '../keys/key-store.ts'

/**
 * Makes a key where there never was one, configured or stored. Keys that were revoked count: who
 * revoked them all wanted nobody in.
 *
 * @returns the text of the new key, if one was made
 */
export async function firstKey (keys: KeyStore): Promise<string | undefined> {
  if ((await keys.list()).length > 0) return undefined
  try {
    return (await keys.create({ name: 'first' })).key
  } catch (error) {
    // Another gateway with the same store was started at the same moment and has shown it.
    if (error instanceof KeyNameError) return undefined
    throw error
  }
}
