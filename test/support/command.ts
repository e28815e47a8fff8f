/** Runs `headgate` commands that end on their own. */

import { run } from '../../lib/cli/run.ts'
import type { Ended } from './headgate.ts'
import type { Test } from 'tap'

/** Only what the test sets: no provider of the machine that runs the tests is enabled. */
const bare = { PATH: process.env['PATH'] ?? '' }

/** Runs a command line as its own process would, without starting one. */
export async function headgate (
  t: Test,
  args: readonly string[],
  cwd = t.testdir(),
  env: Readonly<Record<string, string>> = bare
): Promise<Ended> {
  const out: string[] = []
  const error: string[] = []
  const code = await run(args, {
    env,
    cwd,
    interactive: false,
    out: text => out.push(text),
    stream: async pieces => { for await (const piece of pieces) out.push(piece) },
    notice: text => out.push(text),
    error: text => error.push(text)
  })
  return { code, out: out.join('\n'), error: error.join('\n') }
}
