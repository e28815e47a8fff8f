/** A folder for what a benchmark writes. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders: string[] = []

process.once('exit', () => {
  // What was started may write to them until it is killed.
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
})

/** Returns a new folder among the system's temporary files, which is removed when this process ends. */
export function scratchFolder (name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `headgate-bench-${name}-`))
  folders.push(folder)
  return folder
}
