/**
 * Loads Ajv when the errors of a value are needed. TypeBox decides whether a value matches, in a tenth of the
 * time. Loading Ajv and compiling the schema of the configuration would add 100 ms to a start.
 */

import { createRequire } from 'node:module'
import type * as Ajv from 'ajv/dist/2019.js'

/** Returns the class; later calls cost nothing. */
export function loadAjv (): typeof Ajv.Ajv2019 {
  const require = createRequire(import.meta.url) // synchronous, unlike `import`
  return (require('ajv/dist/2019.js') as typeof Ajv).Ajv2019 // as its types say
}
