#!/usr/bin/env node
/**
 * Starts the process: hands the command line over, and exits with its code. Everything else is imported
 * once it is known that this Node can parse it.
 */

import './process/v8-flags.ts'
import { requireNode } from './process/require-node.ts'

requireNode()
const [{ run }, { exitWhenPrinted }] = await Promise.all([import('./cli/run.ts'), import('./process/exit.ts')])

// The reader of the output may stop early (`headgate models | head`), which is no failure.
process.stdout.on('error', () => process.exitCode ??= 0)

// Standard output that is not a terminal carries the log alone, one JSON object a line.
const notices = process.stdout.isTTY ? process.stdout : process.stderr

const code = await run(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  out: text => { process.stdout.write(`${text}\n`) },
  notice: text => { notices.write(`${text}\n`) },
  error: text => { process.stderr.write(`${text}\n`) }
})
exitWhenPrinted(code) // whatever socket is still open
