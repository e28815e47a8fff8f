import { randomUUID } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Replaces a file completely or not at all. A link or a pipe at its path is replaced instead of written to.
 *
 * @param check called with the path of the new file before it takes its place; throws to prevent that
 * @throws the system error, or that of the check
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
