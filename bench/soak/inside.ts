import { existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './scenario.ts'
import type { World, WorldOptions } from './world.ts'

/** Sends requests to a module that runs inside a gateway. */
export interface Inside<T> {
  /** Options of the gateway that loads the module. */
  readonly options: Required<Pick<WorldOptions, 'nodeArgs' | 'env'>>
  readonly ask: (world: World) => Promise<T>
  readonly stop: () => void
}

let files = 0

/**
 * @param module a file beside this one that writes a `T` to the file named by `SOAK_FILE` whenever the
 *   process gets SIGUSR2
 */
export function askInside<T> (module: string): Inside<T> {
  const file = join(tmpdir(), `headgate-inside-${process.pid}-${files++}.json`)
  return {
    options: { nodeArgs: ['--import', new URL(module, import.meta.url).href], env: { SOAK_FILE: file } },
    ask: async world => {
      rmSync(file, { force: true })
      world.process.process.kill('SIGUSR2')
      if (!await eventually(() => existsSync(file))) throw new Error(`the gateway does not answer ${module}`)
      return JSON.parse(readFileSync(file, 'utf8')) as T // written by the module
    },
    stop: () => rmSync(file, { force: true })
  }
}
