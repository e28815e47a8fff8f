import t from 'tap'
import { ConfigError } from '../../lib/config/problems.ts'
import { runCommand } from '../../lib/cli/run-command.ts'
import { CommandError, type ExitCode } from '../../lib/process/terminal.ts'
import type { Command } from '../../lib/cli/command.ts'

async function run (
  command: () => Promise<ExitCode>,
  args: readonly string[] = []
): Promise<{ readonly code: ExitCode, readonly out: string, readonly error: string }> {
  let [out, error] = ['', '']
  const terminal = { out: (text: string) => { out += text }, error: (text: string) => { error += text } }
  // all that is used
  const code = await runCommand({ usage: 'Usage: headgate it', run: command } satisfies Command, {
    name: 'it',
    args,
    terminal: terminal as never
  })
  return { code, out, error }
}

t.test('a command is run and its exit code returned', async t => {
  t.same(await run(async () => 0), { code: 0, out: '', error: '' })
  t.same(await run(async () => 2), { code: 2, out: '', error: '' })
})

t.test('--help prints help instead, unless it is the value of an option', async t => {
  for (const args of [['--help'], ['-h'], ['--force', '--help']]) {
    t.same(await run(async () => 1, args), { code: 0, out: 'Usage: headgate it', error: '' })
  }
  t.same(await run(async () => 1, ['--', '--help']), { code: 1, out: '', error: '' })
})

t.test('an error is explained and gives an exit code', async t => {
  const failing = async (thrown: unknown): Promise<unknown> =>
    await run(async () => {
      throw thrown
    })
  t.same(await failing(new CommandError('it is taken', { exitCode: 2 })), {
    code: 2,
    out: '',
    error: 'headgate it: it is taken'
  })
  t.match(await failing(new TypeError('a mistake')), {
    code: 1,
    error: /^headgate it: TypeError: a mistake\n\s+at /
  })
  t.match(await failing(new ConfigError([], [])), { code: 1, out: '' })
})

t.test('output of a command cannot control the terminal', async t => {
  const printed: string[] = []
  const print = (text: string): void => { printed.push(text) }
  const hostile = 'a\n\tb\u001b[2J\rc\u009bd'
  const command: Command = {
    usage: '',
    run: async (_args, { out, notice, error }) => {
      for (const say of [out, notice, error]) say(hostile)
      throw new CommandError(hostile)
    }
  }
  const terminal = { out: print, notice: print, error: print }
  await runCommand(command, { name: 'it', args: [], terminal: terminal as never }) // all that is used
  const shown = 'a\n\tb\\u001b[2J\\u000dc\\u009bd'
  t.same(printed, [shown, shown, shown, `headgate it: ${shown}`])
})
