/** Writes the pages of `docs/` that are made from the code (`npm run build && node .ci/write-docs.mjs`). Tests keep them fresh. */

import { writeFileSync } from 'node:fs'
import { configurationReference } from '../build/lib/config/reference.js'

writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationReference())
