/** What every command of `headgate` has. */

import { maxNameLength } from '../../schemas/admin/common.ts'
import { CommandError, type Terminal, type ExitCode } from '../process/terminal.ts'

export interface Command {
  /** Printed by `--help`. */
  readonly usage: string
  /**
   * Runs the command.
   *
   * @param args the arguments after the name of the command
   * @throws CommandError, ConfigError and StoreError, which are printed as their message;
   *   errors of `parseArgs`, which are printed as wrong usage
   */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<ExitCode>
}

/**
 * Returns the first sentence of an error of `parseArgs`, whose further advice takes several lines. Returns
 * `undefined` for any other error.
 */
export function usageError (error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined
  if (!String(error.code).startsWith('ERR_PARSE_ARGS')) return undefined
  return error.message.split(/\.\s/, 1)[0]
}

/**
 * Returns the value of `--name`, by the rule of the admin API.
 *
 * @throws CommandError
 */
export function requiredName (name: string | undefined): string {
  if (name !== undefined && name.trim() !== '' && Array.from(name).length <= maxNameLength) return name
  throw new CommandError(`--name NAME is required, with at most ${maxNameLength} characters`, { exitCode: 2 })
}

/**
 * Refuses arguments that a command would ignore, such as the second word of a name without quotes.
 *
 * @throws CommandError
 */
export function refuseArguments ([extra]: readonly string[]): void {
  if (extra !== undefined) {
    throw new CommandError(`unexpected argument "${extra}": quote a name with spaces`, { exitCode: 2 })
  }
}
