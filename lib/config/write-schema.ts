/** Part of the build: writes `build/headgate.schema.json` (`node build/lib/config/write-schema.js`). */

import { writeFileSync } from 'node:fs'
import { jsonSchema } from './editor-schema.ts'

const target = new URL('../../headgate.schema.json', import.meta.url)
writeFileSync(target, `${JSON.stringify(jsonSchema(), null, 2)}\n`)
