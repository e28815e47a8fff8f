/** `headgate cache`: forgets the answers that are kept for equal calls. */

import { parseArgs } from 'node:util'
import { loadSettings } from '../config/read-settings.ts'
import { clearAnswers } from '../process/open-coordination.ts'
import { CommandError } from '../process/terminal.ts'
import type { Command } from './command.ts'

const options = { config: { type: 'string', short: 'c' } } as const

export const cache: Command = {
  usage: `Usage: headgate cache clear

Deletes the answers that are kept in Redis, so that every call is answered anew. Answers in the memory of a
gateway go when its configuration is reloaded.

  -c, --config FILE`,

  run: async (args, terminal) => {
    const {
      values: { config },
      positionals
    } = parseArgs({ args: [...args], allowPositionals: true, options })
    if (positionals.length !== 1 || positionals[0] !== 'clear') {
      throw new CommandError('use clear', { exitCode: 2 })
    }
    const count = await clearAnswers(loadSettings({ ...terminal, file: config }))
    terminal.out(count === 1 ? 'Deleted 1 answer.' : `Deleted ${count} answers.`)
    return 0
  }
}
