/** Reads how long the turns of a gateway's event loop were, which `loop-turns.ts` notes inside it. */

import { askInside, type Inside } from './inside.ts'
import { loadFactor } from './liveness.ts'
import type { LongestTurn } from './loop-turns.ts'

/** Watches a gateway: `ask` returns the longest turn since the last time. */
export function watchTurns (): Inside<LongestTurn> {
  return askInside('loop-turns.js')
}

/**
 * Returns the longest turn that counts as no stall, in milliseconds of processor time: 50 on a machine that
 * does nothing else; a second in the short form, which runs beside other work.
 */
export function maxTurnMs (short: boolean): number {
  return (short ? 1000 : 50) * loadFactor()
}
