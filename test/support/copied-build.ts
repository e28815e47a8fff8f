/** A copy of the built gateway that a test modifies. */

import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')

/**
 * Creates the copy.
 * @returns the file of its command
 */
export function copyBuild (folder: string): string {
  for (const name of ['lib', 'pipelines', 'schemas']) {
    cpSync(join(root, 'build', name), join(folder, 'build', name), {
      recursive: true, filter: path => !/\.(?:d\.ts|map)$/.test(path)
    })
  }
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return join(folder, 'build/lib/main.js')
}

/**
 * Replaces a text in a file of the copy.
 * @throws if the file does not have it
 */
export function changeBuild (folder: string, name: string, found: string, replacement: string): void {
  const path = join(folder, 'build', name)
  const text = readFileSync(path, 'utf8')
  if (!text.includes(found)) throw new Error(`${name} has no ${found}`)
  writeFileSync(path, text.replace(found, () => replacement))
}
