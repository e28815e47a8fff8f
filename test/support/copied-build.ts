/** A copy of the built gateway that a test changes. */

import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')

/** Makes the copy. @returns the file that is its command */
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

/** Replaces a text of a file of the copy. @throws where the file does not have it */
export function changeBuild (folder: string, name: string, found: string, replacement: string): void {
  const path = join(folder, 'build', name)
  const text = readFileSync(path, 'utf8')
  if (!text.includes(found)) throw new Error(`${name} has no ${found}`)
  writeFileSync(path, text.replace(found, () => replacement))
}
