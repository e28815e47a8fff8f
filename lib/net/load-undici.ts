/**
 * Loads undici when the first tool server is needed. Beside the client that every call uses, it has `fetch` and
 * much more, and loads what Node.js has of it as well: 50 ms of a start, and 8 MB.
 */

import { createRequire } from 'node:module'
import type * as Undici from 'undici'

/** Returns the module; later calls cost nothing. */
export function loadUndici (): typeof Undici {
  return createRequire(import.meta.url)('undici') as typeof Undici // what its types say; synchronous, unlike `import`
}
