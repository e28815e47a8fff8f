/** Writes the pages that are generated: `npm run docs`. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorReference } from './errors.ts'

writeFileSync(join(import.meta.dirname, '../../../docs/errors.md'), errorReference())
