/** Reads how long the turns of a gateway's event loop were, which `loop-turns.ts` notes inside it. */

import { existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadFactor } from './liveness.ts'
import { eventually } from './scenario.ts'
import type { LongestTurn } from './loop-turns.ts'
import type { World, WorldOptions } from './world.ts'

export interface TurnWatch {
  /** Options of a gateway whose turns are noted. */
  readonly options: Required<Pick<WorldOptions, 'nodeArgs' | 'env'>>
  /** Returns the longest turn since the last time. */
  readonly longest: (world: World) => Promise<LongestTurn>
  readonly stop: () => void
}

let watches = 0

export function watchTurns (): TurnWatch {
  const file = join(tmpdir(), `headgate-turns-${process.pid}-${watches++}.json`)
  return {
    options: { nodeArgs: ['--import', new URL('loop-turns.js', import.meta.url).href], env: { SOAK_TURNS_FILE: file } },
    longest: async world => {
      rmSync(file, { force: true })
      world.process.process.kill('SIGUSR2')
      if (!await eventually(() => existsSync(file))) throw new Error('the gateway does not say how long its turns were')
      return JSON.parse(readFileSync(file, 'utf8')) as LongestTurn // written by loop-turns.ts
    },
    stop: () => rmSync(file, { force: true })
  }
}

/**
 * Returns the longest turn that counts as no stall, in milliseconds of processor time: 50 on a machine that does nothing
 * else; a second in the short form, which runs beside other work.
 */
export function maxTurnMs (short: boolean): number {
  return (short ? 1000 : 50) * loadFactor()
}
