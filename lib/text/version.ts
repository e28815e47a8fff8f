/** The version of this package, from its manifest. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Built code is in `build/lib/text`, and the manifest three levels above it. */
const manifest = join(import.meta.dirname, '../../../package.json')

export const version: string = (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
