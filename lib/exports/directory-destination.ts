import { access, constants, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Destination } from './destination.ts'

/**
 * Files are written in the folder itself, so that publishing is a rename.
 *
 * @param folder must exist
 */
export function directoryDestination (folder: string): Destination {
  return {
    location: folder,
    workFolder: folder,
    publish: async (file, name) => await rename(file, join(folder, name)),
    check: async () => await access(folder, constants.W_OK),
    close: async () => undefined
  }
}
