/** Notices changes of the configuration while the gateway runs. */

import { createHash } from 'node:crypto'
import { existsSync, watch, type FSWatcher } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import {
  configFile,
  readSettings,
  shownName,
  type ConfigSources,
  type ReadSettings
} from './read-settings.ts'
import type { Settings } from '../core/settings.ts'
import { readDotenv } from './environment.ts'
import { printSettings } from './print-settings.ts'
import { ConfigError, type Problem } from './problems.ts'

/** Editors and deployments write in several steps; one look after the last of them is enough. */
const debounceMs = 200
/** Changes without a pause do not put that look off for longer. */
const maxDelayMs = 2000

export interface SettingsWatch {
  /** Stops watching; nothing is called after it. */
  readonly close: () => void
}

/**
 * Calls `onSettings` with the new settings after each change of the configuration file, of the catalogue and
 * the secret files that it names or of `.env`, and on SIGHUP. Changes without effect, such as comments, are
 * passed over in silence.
 *
 * A file that was there and is gone is a problem like any other, and so is one that had entries and has none:
 * more likely a deployment half done than the wish to run without one.
 *
 * A configuration with problems goes to `onProblem`, once, and the settings that were given out
 * last stay good. The next good one goes to `onSettings` even when nothing differs, so that the
 * end of the problem is seen too.
 *
 * @param inUse the settings that the process was started with. They are compared with the configuration 200
 *   ms later, so that a change made during the start is not lost. Default: what is read now
 */
export function watchSettings (
  sources: ConfigSources,
  onSettings: (settings: Settings, warnings: readonly Problem[], read: ReadSettings) => void,
  onProblem: (error: ConfigError) => void,
  inUse?: Pick<ReadSettings, 'settings' | 'hasFile'> & Partial<Pick<ReadSettings, 'hasEntries'>>
): SettingsWatch {
  const file = configFile(sources).path
  // Directories, not files: a file replaced by renaming is another file, and a watch on it is lost.
  const watched = new Map<string, { readonly names: Set<string>, readonly watcher: FSWatcher }>()
  let timer: NodeJS.Timeout | undefined
  let expected = inUse?.hasFile ?? existsSync(file)
  const filled: FilledFiles = { configuration: inUse?.hasEntries ?? false, dotenv: hasVariables(sources.cwd) }
  let firstChangeMs: number | undefined

  const reload = (): void => {
    firstChangeMs = undefined
    expected ||= existsSync(file)
    const { fingerprint, outcome } = attempt(sources, { expected, filled }, watchNamed)
    seen ??= inUse && digest(inUse.settings)
    if (fingerprint === seen) return
    seen = fingerprint
    if (outcome instanceof ConfigError) onProblem(outcome)
    else onSettings(outcome.settings, outcome.warnings, outcome)
  }
  const reloadSoon = (): void => {
    clearTimeout(timer)
    const nowMs = performance.now()
    firstChangeMs ??= nowMs
    timer = setTimeout(reload, Math.max(0, Math.min(debounceMs, firstChangeMs + maxDelayMs - nowMs)))
  }
  const watchFile = (path: string): void => {
    const directory = dirname(path)
    const known = watched.get(directory)
    if (known !== undefined) {
      known.names.add(basename(path))
      return
    }
    const names = new Set([basename(path)])
    const watcher = watch(directory, (_event, name) => {
      // Names that begin with `..` are how mounted volumes swap all their files at once.
      if (name === null || names.has(name) || name.startsWith('..')) reloadSoon()
    }).on('error', error => {
      const message = `configuration changes are no longer detected: ${error.message}`
      onProblem(new ConfigError([{ file: directory, line: 0, column: 0, path: '', message }]))
    })
    watched.set(directory, { names, watcher })
  }
  // What is wrong with a directory that does not exist is said of the file in it.
  const watchNamed = (path: string): void => { if (existsSync(dirname(path))) watchFile(path) }

  watchFile(resolve(sources.cwd, '.env'))
  watchFile(file)
  let seen = inUse === undefined ? attempt(sources, { expected, filled }, watchNamed).fingerprint : undefined
  if (inUse !== undefined) reloadSoon()
  process.on('SIGHUP', reloadSoon)
  return {
    close () {
      clearTimeout(timer)
      process.off('SIGHUP', reloadSoon)
      for (const { watcher } of watched.values()) watcher.close()
    }
  }
}

interface Attempt {
  /** Equal for equal outcomes, secrets included. */
  readonly fingerprint: string
  readonly outcome: ReadSettings | ConfigError
}

/** Whether a file has had entries while the process ran. */
interface FilledFiles {
  configuration: boolean
  dotenv: boolean
}

interface Expectations {
  /** True when a file must exist although it was not requested. */
  readonly expected: boolean
  /** Files that must not have become empty; those with entries are noted. */
  readonly filled: FilledFiles
}

/** @param onFile called with each further file the configuration names */
function attempt (
  sources: ConfigSources,
  { expected, filled }: Expectations,
  onFile: (path: string) => void
): Attempt {
  try {
    const { path, explicit } = configFile(sources)
    const outcome = readSettings(expected && !explicit ? { ...sources, file: path } : sources, onFile)
    const hasDotenv = hasVariables(sources.cwd)
    if (filled.configuration && !outcome.hasEntries) throw emptied(shownName(path, sources.cwd), 'entries')
    if (filled.dotenv && !hasDotenv) throw emptied('.env', 'variables')
    filled.configuration ||= outcome.hasEntries
    filled.dotenv ||= hasDotenv
    return { outcome, fingerprint: digest(outcome.settings) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { outcome: error, fingerprint: `problems: ${error.message}` }
  }
}

/** Returns true for a `.env` with variables; one that cannot be read is a problem of the configuration. */
function hasVariables (cwd: string): boolean {
  try {
    return Object.keys(readDotenv(cwd)).length > 0
  } catch (error) {
    if (error instanceof ConfigError) return false
    throw error
  }
}

function emptied (file: string, what: string): ConfigError {
  return new ConfigError([
    {
      file,
      line: 0,
      column: 0,
      path: '',
      message: `has no ${what} any more; restart the gateway to run without them`
    }
  ])
}

/** Returns a digest, so that no copy of a secret is kept in the clear. */
function digest (settings: Settings): string {
  return createHash('sha256').update(printSettings(settings)).digest('base64')
}
