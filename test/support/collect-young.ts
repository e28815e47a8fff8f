import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void // added by the flag

/**
 * Collects the young generation twice: everything still reachable, even from dead objects in old space, is
 * then in old space.
 */
export function collectYoung (): void {
  for (let count = 0; count < 2; count++) gc({ type: 'minor' })
}

/** Collects everything. */
export function collectAll (): void {
  gc()
}
