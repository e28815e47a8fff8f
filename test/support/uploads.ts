import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Returns the directories of calls whose uploads this process still has. */
export function keptUploads (): string[] {
  const own = readdirSync(tmpdir()).filter(name => name.startsWith(`headgate-uploads-${process.pid}-`))
  return own.flatMap(name => existsSync(join(tmpdir(), name)) ? readdirSync(join(tmpdir(), name)) : [])
}
