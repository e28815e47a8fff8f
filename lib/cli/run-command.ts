/** Runs one command: prints its help, or turns an error into a message and an exit code. */

import { ConfigError, formatProblems } from '../config/problems.ts'
import { GatewayError } from '../core/errors.ts'
import { DuplicateKeyNameError } from '../keys/key-store.ts'
import { StoreError, isDatabaseError } from '../stores/store-error.ts'
import { printableLines } from '../text/printable.ts'
import { CommandError, type ExitCode, type Terminal } from '../process/terminal.ts'
import { usageError, type Command } from './command.ts'

export interface Invocation {
  readonly name: string
  readonly args: readonly string[]
  readonly terminal: Terminal
}

/**
 * Runs a command and returns its exit code; never throws. The output may quote callers, servers and files, so
 * control characters are escaped.
 */
export async function runCommand (
  command: Command,
  { name, args, terminal: given }: Invocation
): Promise<ExitCode> {
  const terminal = uncontrolled(given)
  if (asksForHelp(args)) {
    terminal.out(command.usage)
    return 0
  }
  try {
    return await command.run(args, terminal)
  } catch (error) {
    return explain(error, name, terminal)
  }
}

function uncontrolled ({ out, notice, error, ...terminal }: Terminal): Terminal {
  return {
    ...terminal,
    out: text => out(printableLines(text)),
    notice: text => notice(printableLines(text)),
    error: text => error(printableLines(text))
  }
}

/** Looks for a help option before `--`, after which everything is a value. */
function asksForHelp (args: readonly string[]): boolean {
  const end = args.indexOf('--')
  const options = end === -1 ? args : args.slice(0, end)
  return options.includes('--help') || options.includes('-h')
}

function explain (given: unknown, name: string, terminal: Terminal): ExitCode {
  // The reason why the store cannot be used helps its operator more than the sentence for callers.
  const error = given instanceof GatewayError && isDatabaseError(given.cause) ? given.cause : given
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
  if (isDatabaseError(error) && !(error instanceof StoreError)) {
    const advice = /locked|busy/i.test(error.message) ? ' Try again once no other program uses it.' : ''
    terminal.error(`headgate ${name}: the store cannot be used: ${error.message}.${advice}`)
    return 1
  }
  const explained =
    error instanceof StoreError || error instanceof DuplicateKeyNameError || error instanceof GatewayError
  terminal.error(`headgate ${name}: ${explained ? error.message : trace(error)}`)
  return 1
}

function trace (error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error)
}
