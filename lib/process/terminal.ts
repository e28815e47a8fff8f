/** Defines where commands of `headgate` print, and how they fail. */

export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Prints lines to standard output, without the last line end. */
  readonly out: (text: string) => void
  /**
   * Prints pieces of text to standard output as fast as it is read; ends them early when its reader has
   * closed it.
   */
  readonly stream: (pieces: AsyncIterable<string>) => Promise<void>
  /**
   * Prints like `out`, for a person who also sees the log: to standard error unless standard output is a
   * terminal.
   */
  readonly notice: (text: string) => void
  /** True if a person, rather than a log, reads the notices. */
  readonly interactive: boolean
  /** Prints like `out`, to standard error. */
  readonly error: (text: string) => void
}

/** 0 success, 1 failure, 2 wrong usage, 3 a plan with changes. */
export type ExitCode = 0 | 1 | 2 | 3

/** Reports a failure that its message explains. */
export class CommandError extends Error {
  readonly exitCode: ExitCode

  constructor (message: string, { cause, exitCode = 1 }: { cause?: unknown, exitCode?: ExitCode } = {}) {
    super(message, { cause })
    this.name = 'CommandError'
    this.exitCode = exitCode
  }
}
