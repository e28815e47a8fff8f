import type { Terminal, ExitCode } from '../process/terminal.ts'



export interface Command {
  /** What `--help` prints. */
  readonly usage: string
  /**
   * @param args what follows the name of the command
   * @throws CommandError, ConfigError and StoreError, which are shown as their message;
   *   the errors of `parseArgs`, which are shown as wrong use
   */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<ExitCode>
}

/**
 * What `parseArgs` finds wrong: its first sentence, since the rest is advice of several lines
 * that buries it. `undefined` for any other error.
 */
export function wrongUse (error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined
  if (!String(error.code).startsWith('ERR_PARSE_ARGS')) return undefined
  return error.message.split(/\.\s/, 1)[0]
}
