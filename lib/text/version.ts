/** The version of this package, as its manifest says. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Built code lies in `build/lib/text`, the manifest three levels above it. */
const manifest = join(import.meta.dirname, '../../../package.json')

export const version: string = (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
