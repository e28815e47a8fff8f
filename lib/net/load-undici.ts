/**
 * Loads undici when the first tool server or sign-in needs its `fetch`: 50 ms, and 8 MB with what it loads of Node.js. Requests to
 * model providers do not use it.
 */

import { createRequire } from 'node:module'
import type * as Undici from 'undici'

/** Returns the module; later calls cost nothing. */
export function loadUndici (): typeof Undici {
  return createRequire(import.meta.url)('undici') as typeof Undici // what its types say; synchronous, unlike `import`
}
