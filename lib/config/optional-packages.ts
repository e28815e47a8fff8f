/** Loads modules that need packages which only some configurations need: optional peers of this one. */

import { errorCode } from './environment.ts'
import { ConfigError } from './problems.ts'

/**
 * Loads a module.
 *
 * @param path of the entry that needs it
 * @param packages that it imports
 * @throws ConfigError where they are not installed
 */
export async function loadOptional<T> (
  load: () => Promise<T>,
  path: string,
  packages: readonly string[]
): Promise<T> {
  return await load().catch((error: unknown) => {
    const code = errorCode(error)
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error
    const message = `needs packages that are not installed; run \`npm install ${packages.join(' ')}\``
    throw new ConfigError([{ file: '', line: 0, column: 0, path, message }])
  })
}
