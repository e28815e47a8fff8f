/** `headgate cache`: deletes cached answers. */

import { parseArgs } from 'node:util'
import { loadSettings } from '../config/read-settings.ts'
import { clearAnswers } from '../process/open-coordination.ts'
import { CommandError } from '../process/terminal.ts'
import type { Settings } from '../core/settings.ts'
import type { Command } from './command.ts'

const options = { config: { type: 'string', short: 'c' } } as const

export const cache: Command = {
  usage: `Usage: headgate cache clear

Deletes the answers that are cached in Redis. Answers cached in the memory of a gateway are dropped when its
configuration is reloaded.

  -c, --config FILE`,

  run: async (args, terminal) => {
    const {
      values: { config },
      positionals
    } = parseArgs({ args: [...args], allowPositionals: true, options })
    if (positionals.length !== 1 || positionals[0] !== 'clear') {
      throw new CommandError('use clear', { exitCode: 2 })
    }
    terminal.out(await clearCache(loadSettings({ ...terminal, file: config })))
    return 0
  }
}

/**
 * Deletes the answers cached in Redis.
 *
 * @returns a sentence with their number
 */
export async function clearCache (settings: Settings): Promise<string> {
  const count = await clearAnswers(settings)
  return count === 1 ? 'Deleted 1 cached answer.' : `Deleted ${count} cached answers.`
}
