/** Runs the command line from its modules, where `lib/main` takes the bundle. */

import '../../lib/process/v8-flags.ts'
import { printStream } from '../../lib/process/print-stream.ts'
import { run } from '../../lib/cli/run.ts'

process.exit(await run(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  out: text => { console.log(text) },
  stream: async pieces => await printStream(pieces, process.stdout),
  interactive: false,
  notice: text => { console.error(text) },
  error: text => { console.error(text) }
}))
