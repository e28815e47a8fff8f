/**
 * Loads undici when the first request to a provider, a tool server or a sign-in needs it: a start does
 * without its 50 ms and 8 MB.
 */

import { createRequire } from 'node:module'
import type * as Undici from 'undici'

/** Returns the module; later calls cost nothing. */
export function loadUndici (): typeof Undici {
  // what its types say; synchronous, unlike `import`
  return createRequire(import.meta.url)('undici') as typeof Undici
}
