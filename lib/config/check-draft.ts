/** Reads a draft of the configuration as if it were the file, and compares it with what is in effect. */

import type { Configuration, ConfigurationCheck } from '../../schemas/admin/configuration.ts'
import { changedEntries, restartOnlyChanges } from './changed-entries.ts'
import { lineDifference } from './line-difference.ts'
import { ConfigError, type Problem } from './problems.ts'
import { readSettings, type ConfigSources } from './read-settings.ts'

/** Texts of the file. */
export interface Draft {
  readonly sources: ConfigSources
  readonly draft: string
  /** Compared with the draft line by line. */
  readonly file: string
  /** Made into what is in effect. */
  readonly current: string
  /** Read when the process began. */
  readonly started: string
}

/** A draft of one kind of mistake has thousands. */
const maxProblems = 100

export function checkDraft ({ sources, draft, file, current, started }: Draft): ConfigurationCheck {
  const diff = lineDifference(file, draft)
  const filesInUse = new Set<string>()
  const read = (text: string): ReturnType<typeof readSettings> =>
    readSettings({ ...sources, text }, path => filesInUse.add(path))
  try {
    read(current)
  } catch {
    // A file that it names may be gone by now; its path is noted all the same.
  }
  try {
    const { settings, warnings } = readSettings({ ...sources, text: draft, filesInUse })
    return {
      valid: true,
      problems: [],
      warnings: wireProblems(warnings),
      changed: changedEntries(read(current).settings, settings),
      needs_restart: restartOnlyChanges(read(started).settings, settings),
      diff
    }
  } catch (error) {
    const { problems, warnings } = problemsOf(error)
    return {
      valid: false,
      problems: wireProblems(problems),
      warnings: wireProblems(warnings),
      changed: [],
      needs_restart: [],
      diff
    }
  }
}

export function problemsOf (error: unknown): ConfigError {
  if (error instanceof ConfigError) return error
  throw error
}

/** Returns the first problems as the API shows them. */
export function wireProblems (problems: readonly Problem[]): Configuration['warnings'] {
  return problems
    .slice(0, maxProblems)
    .map(({ suggestion = null, ...problem }) => ({ ...problem, suggestion }))
}
