/** Collects the problems of a configuration, with the location of each entry. */

import type { ConfigDocument } from './config-document.ts'
import { messageOverrides, type Origins } from './environment.ts'
import { formatPath, type Path } from './path.ts'
import { ConfigError, type Problem } from './problems.ts'

export interface ProblemDetails {
  readonly suggestion?: string | undefined
  /** The part of the entry with the problem. Default: its value. */
  readonly part?: 'name' | 'value'
  /** Skipped if this entry, or part of it, has a problem, which would be the cause. */
  readonly unless?: Path
  /** The variable with the problem. Default: the one that set the entry. */
  readonly variable?: string
}

export interface Report {
  /** Keeps only the first problem of an entry, because later ones mostly follow from it. */
  readonly add: (path: Path, message: string, details?: ProblemDetails) => void
  /** Warnings. */
  readonly warn: (path: Path, message: string, details?: ProblemDetails) => void
  /** Adds the problems of a referenced file. */
  readonly include: (found: readonly Problem[]) => void
  /** @throws ConfigError with all problems so far, in file order. */
  readonly throwIfAny: () => void
  readonly warnings: () => readonly Problem[]
}

export function createReport (document: ConfigDocument, origins: Origins): Report {
  const problems = new Map<string, Problem>()
  const warnings = new Map<string, Problem>()
  const included: Problem[] = []
  const into =
    (found: Map<string, Problem>): Report['add'] =>
    (path, message, { suggestion, part = 'value', unless, variable } = {}) => {
      const text = formatPath(path)
      if (
        problems.has(text) ||
        found.has(text) ||
        (unless !== undefined && hasWithin(problems, formatPath(unless)))
      ) {
        return
      }
      const hint = suggestion === undefined ? {} : { suggestion }
      const origin = origins.get(text)
      const name = variable ?? origin
      found.set(
        text,
        name === undefined
          ? { file: document.file, ...document.locate(path, part), path: text, message, ...hint }
          : {
              file: 'environment',
              line: 0,
              column: 0,
              path: name,
              message: (origin && messageOverrides[origin]) ?? message,
              ...hint
            }
      )
    }
  return {
    add: into(problems),
    warn: into(warnings),
    include: found => { included.push(...found) },
    throwIfAny () {
      if (problems.size + included.length > 0) {
        throw new ConfigError([...inOrder(problems), ...included], inOrder(warnings))
      }
    },
    warnings: () => inOrder(warnings)
  }
}

function hasWithin (problems: ReadonlyMap<string, Problem>, entry: string): boolean {
  return [...problems.keys()].some(
    path => path === entry || path.startsWith(`${entry}.`) || path.startsWith(`${entry}[`)
  )
}

/** Returns a report for entries whose paths have changed since they were written. */
export function reportFor (report: Report, written: (path: Path) => Path): Report {
  const at =
    (add: Report['add']): Report['add'] =>
    (path, message, details = {}) => {
      add(written(path), message, {
        ...details,
        ...details.unless !== undefined && { unless: written(details.unless) }
      })
    }
  return { ...report, add: at(report.add), warn: at(report.warn) }
}

function inOrder (found: ReadonlyMap<string, Problem>): Problem[] {
  return [...found.values()].toSorted((a, b) => a.line - b.line || a.column - b.column)
}
