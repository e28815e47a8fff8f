/**
 * Decides which files a configuration may name: any, but for a draft those that are in use or lie beside the
 * configuration.
 */

import { realpathSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { readTextFile } from '../net/read-regular-file.ts'

export interface NamedFiles {
  /**
   * Reads a file that the configuration names.
   *
   * @param path relative to the directory of the configuration file
   * @throws an error with a code
   */
  readonly read: (path: string) => string
  /** Absolute paths of the files that were read, or should have been. */
  readonly named: ReadonlySet<string>
}

/**
 * @param directory that of the configuration file
 * @param inUse the only files outside of the directory that may be read. Default: all
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
          code: 'outside of the directory of the configuration: a draft may name only files that the configuration uses already'
        })
      }
      return readTextFile(absolute)
    }
  }
}

/**
 * Returns true for a file below a directory, wherever links lead. @throws the error of the system for one
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
