/** What a command of `headgate` is, and how it fails. */

export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** One or more lines to standard output, without the last line end. */
  readonly out: (text: string) => void
  /** The same, to standard error. */
  readonly error: (text: string) => void
}

/** 0 all is well, 1 a problem was found, 2 wrong use. */
export type ExitCode = 0 | 1 | 2

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

/** A failure that its message explains. */
export class CommandError extends Error {
  readonly exitCode: ExitCode

  constructor (message: string, { cause, exitCode = 1 }: { cause?: unknown, exitCode?: ExitCode } = {}) {
    super(message, { cause })
    this.name = 'CommandError'
    this.exitCode = exitCode
  }
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
