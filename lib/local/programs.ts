/** Programs of the operating system that the local engine uses, if they are installed. */

import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'

/** Absolute paths. */
export interface LocalPrograms {
  readonly tesseract?: string
  readonly pdftoppm?: string
  readonly espeak?: string
}

// Where package managers put them. Nothing is looked for in directories a caller could write to.
const directories = ['/usr/local/bin', '/usr/bin', '/bin', '/opt/homebrew/bin']

/** Looks for the programs: Debian's `tesseract-ocr`, `poppler-utils` and `espeak-ng`. */
export async function localPrograms (): Promise<LocalPrograms> {
  const [tesseract, pdftoppm, espeak] = await Promise.all([
    find('tesseract'), find('pdftoppm'), find('espeak-ng', 'espeak')
  ])
  return {
    ...tesseract !== undefined && { tesseract },
    ...pdftoppm !== undefined && { pdftoppm },
    ...espeak !== undefined && { espeak }
  }
}

async function find (...names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    for (const directory of directories) {
      const path = join(directory, name)
      if (await isProgram(path)) return path
    }
  }
  return undefined
}

async function isProgram (path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(() => true, () => false)
}
