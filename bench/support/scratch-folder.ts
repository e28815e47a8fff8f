/** A temporary folder for files of a benchmark. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders: string[] = []

process.once('exit', () => {
  // Child processes may write to it until they are killed.
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
})

/** Returns a new temporary folder, which is removed when this process ends. */
export function scratchFolder (name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `headgate-bench-${name}-`))
  folders.push(folder)
  return folder
}
