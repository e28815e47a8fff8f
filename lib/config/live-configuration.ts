/** Shows the configuration of a running process, with what reloads changed, and saves its file. */

import { readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import type { Configuration, ConfigurationCheck } from '../../schemas/admin/configuration.ts'
import { GatewayError } from '../core/errors.ts'
import type { Settings } from '../core/settings.ts'
import { changedEntries, restartOnlyChanges } from './changed-entries.ts'
import { effectiveEntries } from './effective-entries.ts'
import { errorCode } from './environment.ts'
import { lineDifference } from './line-difference.ts'
import { ConfigError, type Problem } from './problems.ts'
import { configFile, readSettings, shownName, type ConfigSources } from './read-settings.ts'

type Reload = Configuration['reloads'][number]

const maxReloads = 50

export class LiveConfiguration {
  readonly #sources: ConfigSources
  readonly #started: Settings
  #current: Settings
  #reloads: readonly Reload[] = []
  #entries: Configuration['entries'] = []

  /** @param started the settings that the process began with */
  constructor (sources: ConfigSources, started: Settings) {
    this.#sources = sources
    this.#started = started
    this.#current = started
  }

  /** Notes that other settings are in effect from now on. */
  reloaded (settings: Settings): Reload {
    const reload = { at_ms: Date.now(), changed: changedEntries(this.#current, settings), needs_restart: restartOnlyChanges(this.#started, settings) }
    this.#current = settings
    this.#reloads = [reload, ...this.#reloads].slice(0, maxReloads)
    return reload
  }

  /** Describes what is in effect. Of a file with problems the entries are those before, and its problems are listed as warnings. */
  describe (editable: boolean): Configuration {
    const { path } = configFile(this.#sources)
    const text = this.#text()
    let warnings: readonly Problem[]
    try {
      warnings = readSettings(this.#sources).warnings
      this.#entries = effectiveEntries(this.#sources)
    } catch (error) {
      warnings = problemsOf(error).problems
    }
    return {
      file: text === null ? null : shownName(path, this.#sources.cwd), text, revision: digestOf(text), editable, entries: this.#entries, warnings: warnings.map(wireProblem),
      reloads: [...this.#reloads]
    }
  }

  /** Reads a draft as if it were the file. */
  check (text: string): ConfigurationCheck {
    const diff = lineDifference(this.#text() ?? '', text)
    try {
      const { settings, warnings } = readSettings({ ...this.#sources, text })
      return {
        valid: true, problems: [], warnings: warnings.map(wireProblem), diff, changed: changedEntries(this.#current, settings), needs_restart: restartOnlyChanges(this.#started, settings)
      }
    } catch (error) {
      const { problems, warnings } = problemsOf(error)
      return { valid: false, problems: problems.map(wireProblem), warnings: warnings.map(wireProblem), changed: [], needs_restart: [], diff }
    }
  }

  /**
   * Saves a text in place of the file, which the process then takes over like any other change of it.
   *
   * @param revision that of the text it was made of
   * @throws GatewayError `conflict` when the file has changed since, `invalid_value` for a text with problems, or where it cannot be written
   */
  save (text: string, revision: string): ConfigurationCheck {
    const before = this.#text()
    if (before === null || digestOf(before) !== revision) throw new GatewayError('conflict', { param: 'revision', message: 'The file has changed since it was read. Load it again.' })
    const check = this.check(text)
    const [problem] = check.problems
    if (problem !== undefined) throw new GatewayError('invalid_value', { param: 'text', message: `Line ${problem.line}: ${problem.path} ${problem.message}.` })
    const path = realpathSync(configFile(this.#sources).path)
    const part = `${path}.part`
    try {
      writeFileSync(part, text, { mode: statSync(path).mode & 0o777 })
      renameSync(part, path)
    } catch (error) {
      throw new GatewayError('invalid_value', { message: `The file of the configuration cannot be written (${errorCode(error)}).` })
    }
    return check
  }

  /** Returns the text of the file; `null` where there is none. */
  #text (): string | null {
    try {
      return readFileSync(configFile(this.#sources).path, 'utf8')
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return null
      throw new GatewayError('invalid_value', { message: `The file of the configuration cannot be read (${errorCode(error)}).` })
    }
  }
}

function digestOf (text: string | null): string {
  return createHash('sha256').update(text ?? '').digest('base64url')
}

function problemsOf (error: unknown): ConfigError {
  if (error instanceof ConfigError) return error
  throw error
}

function wireProblem ({ suggestion = null, ...problem }: Problem | (Omit<Problem, 'suggestion'> & { readonly suggestion?: null })): Configuration['warnings'][number] {
  return { ...problem, suggestion }
}
