/**
 * Keeps the compiled code of modules for the next process, beside the code itself. Node.js has this from 22.1 on. That of
 * the bundle is kept by `load-bundle`, on every version.
 */

import module from 'node:module'
import { join } from 'node:path'

const directory = join(import.meta.dirname, '../../.compile-cache')

/** Newer than the types, which are those of Node.js 20. */
const { enableCompileCache: enable, flushCompileCache: flush } = module as {
  readonly enableCompileCache?: (directory: string) => unknown
  readonly flushCompileCache?: () => void
}

/** By then a start is over, and the first calls have shown what they need. */
const flushAfterMs = 10_000

/**
 * Reads the cache, and writes it when the process ends and once before: a process that is killed would not.
 * Without effect where the directory cannot be written.
 */
export function enableCompileCache (): void {
  enable?.(directory)
  if (flush !== undefined) setTimeout(flush, flushAfterMs).unref()
}
