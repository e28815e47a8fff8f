/** Writes the generated pages of `docs/`: `npm run docs`. Tests check that they are up to date. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configurationReference } from '../../lib/config/reference.ts'
import { errorReference } from './errors.ts'
import { providerReference } from './providers.ts'

const pages = { configuration: configurationReference, errors: errorReference, providers: providerReference }

for (const [name, text] of Object.entries(pages)) {
  writeFileSync(join(import.meta.dirname, `../../../docs/${name}.md`), text())
}
