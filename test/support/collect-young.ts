import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void // what the flag adds

/**
 * Collects the young generation twice: what is reachable afterwards, from dead objects in old space as well,
 * is in old space.
 */
export function collectYoung (): void {
  for (let count = 0; count < 2; count++) gc({ type: 'minor' })
}

/** Collects everything. */
export function collectAll (): void {
  gc()
}
