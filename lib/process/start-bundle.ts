import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Returns the path of the bundled `headgate start`. To find and read its 1,300 modules one by one takes half
 * of a start. Undefined where there is none, and where a module was compiled after it.
 *
 * @param build the folder it is in
 */
export function startBundle (build = join(import.meta.dirname, '../..')): string | undefined {
  const path = join(build, 'start.js')
  const bundled = modified(path)
  if (bundled === undefined) return undefined
  // Only the compiler makes this file, and it may have made it without any output.
  const compiled = modified(join(build, '.tsbuildinfo'))
  if (compiled !== undefined && compiled > bundled && hasNewer(build, bundled)) return undefined
  return path
}

function hasNewer (build: string, thanMs: number): boolean {
  return ['lib', 'pipelines', 'schemas'].some(folder =>
    readdirSync(join(build, folder), { recursive: true, encoding: 'utf8' })
      .some(name => name.endsWith('.js') && (modified(join(build, folder, name)) ?? 0) > thanMs))
}

function modified (path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs
}
