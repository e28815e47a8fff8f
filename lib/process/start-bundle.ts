import { statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Returns the address of the bundled `headgate start`. To find and read its 1,300 modules one by one takes half
 * of a start. Undefined where there is none, and where modules were compiled after it.
 */
export function startBundle (build = join(import.meta.dirname, '../..')): string | undefined {
  const path = join(build, 'start.js')
  const bundled = modified(path)
  return bundled === undefined || bundled < (modified(join(build, '.tsbuildinfo')) ?? 0) ? undefined : pathToFileURL(path).href
}

function modified (path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs
}
