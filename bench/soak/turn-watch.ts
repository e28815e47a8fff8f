/** Reads the duration of a gateway's event loop turns, which `loop-turns.ts` measures inside it. */

import { askInside, type Inside } from './inside.ts'
import { loadFactor } from './liveness.ts'
import type { LongestTurn } from './loop-turns.ts'

/** Watches a gateway: `ask` returns the longest turn since the last time. */
export function watchTurns (): Inside<LongestTurn> {
  return askInside('loop-turns.js')
}

/**
 * Returns the longest turn that is not a stall, in milliseconds of processor time: 50 on an otherwise idle
 * machine; a second in the short form, which runs beside other work.
 */
export function maxTurnMs (short: boolean): number {
  return (short ? 1000 : 50) * loadFactor()
}
