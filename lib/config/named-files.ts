/**
 * Decides which files a configuration may reference: any. A draft may only reference files in use or in the
 * directory of the configuration.
 */

import { realpathSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { readTextFile } from '../net/read-regular-file.ts'

export interface NamedFiles {
  /**
   * Reads a file that the configuration references.
   *
   * @param path relative to the directory of the configuration file
   * @throws an error with a code
   */
  readonly read: (path: string) => string
  /** Absolute paths of all referenced files, readable or not. */
  readonly named: ReadonlySet<string>
}

/**
 * @param directory the directory of the configuration file
 * @param inUse the only files outside it that may be read. Default: all
 */
export function namedFiles (directory: string, inUse?: ReadonlySet<string>): NamedFiles {
  const named = new Set<string>()
  return {
    named,
    read: path => {
      const absolute = resolve(directory, path)
      named.add(absolute)
      if (inUse !== undefined && !inUse.has(absolute) && !isBelow(directory, absolute)) {
        throw Object.assign(new Error(), {
          code: 'outside the directory of the configuration: a draft may only name files that are already in use'
        })
      }
      return readTextFile(absolute)
    }
  }
}

/**
 * Returns true for a file inside a directory, after resolving links. @throws the system's error for a file
 * that does not exist
 */
function isBelow (directory: string, path: string): boolean {
  if (!leadsDown(directory, path)) return false
  return leadsDown(realpathSync(directory), realpathSync(path))
}

function leadsDown (directory: string, path: string): boolean {
  const way = relative(directory, path)
  return way !== '' && way !== '..' && !/^\.\.[\\/]/.test(way) && resolve(directory, way) === path
}
