/** Gathers problems of one configuration, and knows where each entry came from. */

import type { ConfigDocument } from './document.ts'
import { ownRules, type Origins } from './environment.ts'
import { formatPath, type Path } from './path.ts'
import { ConfigError, type Problem } from './problems.ts'

export interface ProblemDetails {
  readonly suggestion?: string | undefined
  /** Which part of the entry is wrong. Default: its value. */
  readonly part?: 'name' | 'value'
}

export interface Report {
  /** Only the first problem of an entry is kept: later ones mostly follow from it. */
  readonly add: (path: Path, message: string, details?: ProblemDetails) => void
  /** @throws ConfigError with everything added so far, in the order of the file. */
  readonly throwIfAny: () => void
}

export function createReport (document: ConfigDocument, origins: Origins): Report {
  const problems = new Map<string, Problem>()
  return {
    add (path, message, { suggestion, part = 'value' } = {}) {
      const text = formatPath(path)
      if (problems.has(text)) return
      const hint = suggestion === undefined ? {} : { suggestion }
      const variable = origins.get(text)
      problems.set(text, variable === undefined
        ? { file: document.file, ...document.locate(path, part), path: text, message, ...hint }
        : { file: 'environment', line: 0, column: 0, path: variable, message: ownRules[variable] ?? message, ...hint })
    },
    throwIfAny () {
      if (problems.size === 0) return
      throw new ConfigError([...problems.values()].toSorted((a, b) => (
        a.line - b.line || a.column - b.column
      )))
    }
  }
}
