#!/usr/bin/env node
/**
 * Starts the process: hands the command line over, and exits with its code. Everything else is imported
 * once it is known that this Node can run it. The build makes one file, `build/headgate.cjs`, of this module
 * and all that it imports.
 */

import './process/v8-flag.ts'
import { exitWhenPrinted } from './process/exit.ts'
import { requireNode } from './process/require-node.ts'
import type { ExitCode, Terminal } from './process/terminal.ts'

requireNode()

// A command that never ends, with nothing left to wait for, has failed.
process.exitCode = 1
// The reader of the output may stop early (`headgate models | head`), which is not a failure.
process.stdout.on('error', () => { process.exitCode = 0 })

// Standard output that is not a terminal has the log only, one JSON object per line.
const notices = process.stdout.isTTY ? process.stdout : process.stderr

// Without `await`, which is not allowed at the top level of a file loaded by `require`.
void run(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  out: text => {
    process.stdout.write(`${text}\n`)
  },
  stream: async pieces =>
    await (await import('./process/print-stream.ts')).printStream(pieces, process.stdout),
  interactive: notices.isTTY,
  notice: text => {
    notices.write(`${text}\n`)
  },
  error: text => {
    process.stderr.write(`${text}\n`)
  }
}).then(exitWhenPrinted) // even if sockets are still open

async function run (args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  return await (await import('./cli/run.ts')).run(args, terminal)
}
