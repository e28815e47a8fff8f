/** Problems of a configuration, with their locations. */

export interface Problem {
  /** As the operator would write it: relative if below the working directory. */
  readonly file: string
  /** From 1; 0 without lines, as in the environment. */
  readonly line: number
  readonly column: number
  /** The entry: `providers.openai.base_url`, `keys[0].name`, or the name of a variable. */
  readonly path: string
  readonly message: string
  /** The likely intention: an entry, or one of the allowed values. */
  readonly suggestion?: string
}

/** A configuration that cannot be used, with all its problems. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]

  constructor (problems: readonly Problem[], warnings: readonly Problem[] = []) {
    super(problems.map(formatProblem).join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
    this.warnings = warnings
  }
}

/**
 * Prints one line per problem, for terminals. It never contains values of the configuration, so never a
 * secret.
 *
 *     headgate.yaml:12:5  providers.openai.base_ulr  unknown entry; did you mean providers.openai.base_url?
 */
export function formatProblems (error: ConfigError): string {
  return error.message
}

/** Prints one line per warning, like a problem but labelled as a warning. */
export function formatWarnings (warnings: readonly Problem[]): string[] {
  return marked('warning', warnings)
}

/** Prints one line per note. Notes may quote patterns of the configuration. */
export function formatNotes (notes: readonly Problem[]): string[] {
  return marked('note', notes)
}

function marked (word: string, found: readonly Problem[]): string[] {
  return found.map(one => formatProblem({ ...one, message: `${word}: ${one.message}` }))
}

function formatProblem ({ file, line, column, path, message, suggestion }: Problem): string {
  const location = line === 0 ? file : `${file}:${line}:${column}`
  const hint = suggestion === undefined ? '' : `; did you mean ${suggestion}?`
  return [location, path, message + hint].filter(part => part !== '').join('  ')
}
