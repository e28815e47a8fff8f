#!/usr/bin/env node
/** The process: hands the command line over, and ends with its exit code. */

import './process/v8-flags.ts'
import { run } from './cli/run.ts'

// Whoever reads our output may stop early (`headgate models | head`): no reason to fail.
process.stdout.on('error', () => process.exitCode ??= 0)

const code = await run(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  out: text => { process.stdout.write(`${text}\n`) },
  error: text => { process.stderr.write(`${text}\n`) }
})
// Once everything printed has gone out; a socket that somebody keeps open must not hold us.
process.stdout.write('', () => process.exit(code))
