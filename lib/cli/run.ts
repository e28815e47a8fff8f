/**
 * Runs a command line: finds the command.
 *
 * Commands are loaded on demand: loading the gateway takes half a second, which `headgate keys --help` need
 * not wait for.
 */

import { nearestWord } from '../text/nearest-word.ts'
import { version } from '../text/version.ts'
import type { ExitCode, Terminal } from '../process/terminal.ts'
import type { Command } from './command.ts'
import { runCommand } from './run-command.ts'

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
    summary: 'create, list, show, update, rotate and revoke gateway keys',
    load: async () => (await import('./keys.ts')).keys
  }],
  ['admin-keys', {
    summary: 'create, list and revoke keys of the admin API',
    load: async () => (await import('./admin-keys-command.ts')).adminKeys
  }],
  ['apply', {
    summary: 'create and update projects, users and keys from a file',
    load: async () => (await import('./apply.ts')).apply
  }],
  ['dashboard', {
    summary: 'print a link that signs in to the dashboard',
    load: async () => (await import('./dashboard.ts')).dashboard
  }],
  ['usage', {
    summary: 'report calls and what they cost',
    load: async () => (await import('./usage.ts')).usage
  }],
  ['backup', {
    summary: 'copy the store, even while gateways use it',
    load: async () => (await import('./backup.ts')).backup
  }],
  ['cache', {
    summary: 'delete cached answers',
    load: async () => (await import('./cache.ts')).cache
  }],
  ['forget', {
    summary: 'delete the data of an end user',
    load: async () => (await import('./forget.ts')).forget
  }],
  ['store', {
    summary: 'migrate, inspect or copy the store',
    load: async () => (await import('./store.ts')).store
  }],
  ['models', {
    summary: 'list the models that callers can use',
    load: async () => (await import('./models.ts')).models
  }],
  ['route', {
    summary: 'show which models a call would use, and why',
    load: async () => (await import('./route.ts')).route
  }],
  ['import', {
    summary: 'convert a configuration of LiteLLM or Bifrost; bring its keys and budgets',
    load: async () => (await import('./import.ts')).importCommand
  }],
  ['doctor', {
    summary: 'check the installation and every provider',
    load: async () => (await import('./doctor.ts')).doctor
  }],
  ['connect', {
    summary: 'set up Claude Code, Codex or OpenCode for this gateway',
    load: async () => (await import('./connect-client.ts')).connectClient
  }],
  ['compare', {
    summary: 'compare two periods, routes or gateways by cost, errors and times',
    load: async () => (await import('./compare.ts')).compare
  }],
  ['bench', {
    summary: 'compare two gateways under the same load',
    load: async () => (await import('./bench.ts')).bench
  }],
  ['tools', {
    summary: 'list and call the tools of a tool server (MCP)',
    load: async () => (await import('./tools.ts')).tools
  }]
])

const usage = `Usage: headgate COMMAND [OPTIONS]

Commands
${[...commands].map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`).join('\n')}

Run "headgate COMMAND --help" for details. Exit codes: 0 success, 1 failure, 2 wrong usage; of "apply --plan" also 3.`

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
  return await runCommand(await entry.load(), { name, args: rest, terminal })
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
