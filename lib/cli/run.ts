/**
 * Runs a command line: finds the command, and turns what it throws into a message and an exit code.
 *
 * Commands are loaded on demand: loading a gateway takes half a second, which `headgate keys --help` need
 * not wait for.
 */

import { ConfigError, formatProblems } from '../config/problems.ts'
import { DuplicateKeyNameError } from '../keys/key-store.ts'
import { nearestWord } from '../text/nearest-word.ts'
import { StoreError, isDatabaseError } from '../stores/store-error.ts'
import { version } from '../text/version.ts'
import { CommandError, type ExitCode, type Terminal } from '../process/terminal.ts'
import { usageError, type Command } from './command.ts'

interface Entry {
  readonly summary: string
  readonly load: () => Promise<Command>
}

const commands: ReadonlyMap<string, Entry> = new Map<string, Entry>([
  ['start', {
    summary: 'run the gateway',
    load: async () => (await import('./start.ts')).start
  }],
  ['check', {
    summary: 'check a configuration',
    load: async () => (await import('./check.ts')).check
  }],
  ['keys', {
    summary: 'create, list and revoke gateway keys',
    load: async () => (await import('./keys.ts')).keys
  }],
  ['usage', {
    summary: 'report calls and what they cost',
    load: async () => (await import('./usage.ts')).usage
  }],
  ['backup', {
    summary: 'copy the store, also while gateways use it',
    load: async () => (await import('./backup.ts')).backup
  }],
  ['models', {
    summary: 'list the models that callers can use',
    load: async () => (await import('./models.ts')).models
  }],
  ['route', {
    summary: 'show which models a call would use, and why',
    load: async () => (await import('./route.ts')).route
  }],
  ['doctor', {
    summary: 'check the installation and every provider',
    load: async () => (await import('./doctor.ts')).doctor
  }],
  ['tools', {
    summary: 'list and call the tools of an MCP server',
    load: async () => (await import('./tools.ts')).tools
  }]
])

const usage = `Usage: headgate COMMAND [OPTIONS]

Commands
${[...commands].map(([name, { summary }]) => `  ${name.padEnd(8)}${summary}`).join('\n')}

Run "headgate COMMAND --help" for details. Exit codes: 0 success, 1 failure, 2 wrong usage.`

/** Runs one command line and returns its exit code. */
export async function run (args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const [name = '', ...rest] = args
  if (['help', '--help', '-h'].includes(name)) return print(terminal, usage)
  if (['--version', '-v'].includes(name)) return print(terminal, version)
  const entry = commands.get(name)
  if (entry === undefined) {
    terminal.error(name === '' ? usage : unknown(name))
    return 2
  }
  const command = await entry.load()
  if (asksForHelp(rest)) return print(terminal, command.usage)
  try {
    return await command.run(rest, terminal)
  } catch (error) {
    return explain(error, name, terminal)
  }
}

function print (terminal: Terminal, text: string): ExitCode {
  terminal.out(text)
  return 0
}

function unknown (name: string): string {
  const meant = nearestWord(name, commands.keys())
  const hint = meant === undefined ? 'See "headgate --help".' : `Did you mean "${meant}"?`
  return `headgate: unknown command "${name}". ${hint}`
}

/** Looks for a help option before `--`, after which everything is a value. */
function asksForHelp (args: readonly string[]): boolean {
  const end = args.indexOf('--')
  const options = end === -1 ? args : args.slice(0, end)
  return options.includes('--help') || options.includes('-h')
}

function explain (error: unknown, name: string, terminal: Terminal): ExitCode {
  if (error instanceof ConfigError) {
    terminal.error(formatProblems(error))
    return 1
  }
  const mistake = usageError(error)
  if (mistake !== undefined) {
    terminal.error(`headgate ${name}: ${mistake}\nSee "headgate ${name} --help".`)
    return 2
  }
  if (error instanceof CommandError) {
    terminal.error(`headgate ${name}: ${error.message}`)
    return error.exitCode
  }
  if (isDatabaseError(error)) {
    const advice = /locked|busy/i.test(error.message) ? ' Try again once no other program uses it.' : ''
    terminal.error(`headgate ${name}: the store cannot be used: ${error.message}.${advice}`)
    return 1
  }
  const explained = error instanceof StoreError || error instanceof DuplicateKeyNameError
  terminal.error(`headgate ${name}: ${explained ? error.message : trace(error)}`)
  return 1
}

function trace (error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error)
}
