import { randomUUID } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Puts a new file in the place of another one, all of it or nothing. A link or a pipe in that place is
 * replaced, not written to.
 *
 * @param check gets the path of the new file before it takes its place, and throws for one that must not
 * @throws the error of the system, or that of the check
 */
export function replaceFile (
  path: string,
  text: string,
  mode: number,
  check: (file: string) => void = () => {}
): void {
  const written = `${path}.${randomUUID()}.new`
  try {
    writeFileSync(written, text, { mode, flag: 'wx' })
    check(written)
    renameSync(written, path)
  } finally {
    rmSync(written, { force: true })
  }
}
