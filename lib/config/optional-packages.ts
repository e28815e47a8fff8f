/** Loads modules whose packages are optional peers, because only some configurations need them. */

import { errorCode } from './environment.ts'
import { ConfigError } from './problems.ts'

/**
 * Loads a module.
 *
 * @param path the entry that needs it
 * @param packages the packages it imports
 * @throws ConfigError if they are not installed
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
