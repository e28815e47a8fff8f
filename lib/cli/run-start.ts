/**
 * Runs `headgate start`: the entry of the bundled file `build/start.js`, which has the gateway and the
 * packages it needs for every call in one piece.
 */

import type { ExitCode, Terminal } from '../process/terminal.ts'
import { runCommand } from './run-command.ts'
import { start } from './start.ts'

export async function runStart (args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  return await runCommand(start, { name: 'start', args, terminal })
}
