/** Reads a draft of the configuration like the file, and compares it with the configuration in effect. */

import type { Configuration, ConfigurationCheck } from '../../schemas/admin/configuration.ts'
import { changedEntries, restartOnlyChanges } from './changed-entries.ts'
import { lineDifference } from './line-difference.ts'
import { ConfigError, type Problem } from './problems.ts'
import { readSettings, type ConfigSources } from './read-settings.ts'

/** The draft and the texts it is compared with. */
export interface Draft {
  readonly sources: ConfigSources
  readonly draft: string
  /** For the line-by-line difference. */
  readonly file: string
  /** The configuration in effect. */
  readonly current: string
  /** The configuration that the process started with. */
  readonly started: string
}

/** One repeated mistake can cause thousands. */
const maxProblems = 100

export function checkDraft ({ sources, draft, file, current, started }: Draft): ConfigurationCheck {
  const diff = lineDifference(file, draft)
  const filesInUse = new Set<string>()
  const read = (text: string): ReturnType<typeof readSettings> =>
    readSettings({ ...sources, text }, path => filesInUse.add(path))
  try {
    read(current)
  } catch {
    // A file it names may have been deleted; its path is recorded anyway.
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

/** Returns the first problems in the format of the API. */
export function wireProblems (problems: readonly Problem[]): Configuration['warnings'] {
  return problems
    .slice(0, maxProblems)
    .map(({ suggestion = null, ...problem }) => ({ ...problem, suggestion }))
}
