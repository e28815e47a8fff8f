/** Detects configuration changes while the gateway runs. */

import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, realpathSync, watch, type FSWatcher } from 'node:fs'
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

/** Editors and deployments write in several steps; one read after the last step is enough. */
const debounceMs = 200
/** Continuous changes delay the read no longer than this. */
const maxDelayMs = 2000

export interface SettingsWatch {
  /** Has the next read reported even if nothing differs, such as after a reload that failed. */
  readonly forget: () => void
  /** Stops watching; no callbacks follow. */
  readonly close: () => void
}

/**
 * Calls `onSettings` with the new settings after each change of the configuration file, of referenced files
 * (the catalogue and secrets) or of `.env`. Changes without effect, such as comments, are ignored. On SIGHUP
 * it is called in any case: guard modules may have changed.
 *
 * A file that disappears is a problem like any other, and so is one whose entries disappear: it is more
 * likely a half-done deployment than the intention to run without one.
 *
 * A configuration with problems is passed to `onProblem`, once, and the last settings remain valid. The next
 * valid one is passed to `onSettings` even if nothing differs, so that the end of the problem is noticed.
 *
 * @param inUse the settings that the process was started with. They are compared with the configuration after
 *   200 ms, so that a change during the start is not lost. Default: the settings as read now
 */
export function watchSettings (
  sources: ConfigSources,
  onSettings: (settings: Settings, warnings: readonly Problem[], read: ReadSettings) => void,
  onProblem: (error: ConfigError) => void,
  inUse?: Pick<ReadSettings, 'settings' | 'hasFile'> & Partial<Pick<ReadSettings, 'hasEntries'>>
): SettingsWatch {
  const file = configFile(sources).path
  const dotenv = resolve(sources.cwd, '.env')
  let timer: NodeJS.Timeout | undefined
  let expected = inUse?.hasFile ?? existsSync(file)
  const filled: FilledFiles = { configuration: inUse?.hasEntries ?? false, dotenv: hasVariables(sources.cwd) }
  let firstChangeMs: number | undefined

  const reload = (): void => {
    firstChangeMs = undefined
    expected ||= existsSync(file)
    // Links may lead elsewhere by now.
    watchNamed(dotenv)
    watchNamed(file)
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
  const watched = new WatchedFiles(reloadSoon, onProblem)
  // A missing directory is reported as a problem of the file in it.
  const watchNamed = (path: string): void => { if (existsSync(dirname(path))) watched.add(path) }

  watched.add(dotenv)
  watched.add(file)
  let seen = inUse === undefined ? attempt(sources, { expected, filled }, watchNamed).fingerprint : undefined
  if (inUse !== undefined) reloadSoon()
  const forget = (): void => { seen = '' }
  const onHangUp = (): void => {
    forget()
    reloadSoon()
  }
  process.on('SIGHUP', onHangUp)
  return {
    forget,
    close () {
      clearTimeout(timer)
      process.off('SIGHUP', onHangUp)
      watched.close()
    }
  }
}

/** Watches directories, not files: replacing a file by renaming ends a watch on it. */
class WatchedFiles {
  readonly #onChange: () => void
  readonly #onProblem: (error: ConfigError) => void
  readonly #directories = new Map<string, { readonly names: Set<string>, readonly watcher: FSWatcher }>()

  constructor (onChange: () => void, onProblem: (error: ConfigError) => void) {
    this.#onChange = onChange
    this.#onProblem = onProblem
  }

  /** Watches a file and the one it links to; without effect for one that is watched already. */
  add (path: string): void {
    for (const each of withTarget(path)) {
      const directory = dirname(each)
      const names = this.#directories.get(directory)?.names ?? this.#watch(directory)
      names.add(basename(each))
    }
  }

  close (): void {
    for (const { watcher } of this.#directories.values()) watcher.close()
  }

  /** Returns the names of files in the directory whose changes count. */
  #watch (directory: string): Set<string> {
    const names = new Set<string>()
    const watcher = watch(directory, (_event, name) => {
      const isGone = !existsSync(directory)
      if (isGone) {
        watcher.close()
        this.#directories.delete(directory)
      }
      // Mounted volumes swap all their files through names that begin with `..`.
      if (isGone || name === null || names.has(name) || name.startsWith('..')) this.#onChange()
    }).on('error', error => {
      const message = `configuration changes are no longer detected: ${error.message}`
      this.#onProblem(new ConfigError([{ file: directory, line: 0, column: 0, path: '', message }]))
    })
    this.#directories.set(directory, { names, watcher })
    return names
  }
}

interface Attempt {
  /** Equal for equal results, secrets included. */
  readonly fingerprint: string
  readonly outcome: ReadSettings | ConfigError
}

/** Which files have had entries while the process ran. */
interface FilledFiles {
  configuration: boolean
  dotenv: boolean
}

interface Expectations {
  /** True if a file must exist although it was not requested. */
  readonly expected: boolean
  /** Files that must not become empty; files with entries are added. */
  readonly filled: FilledFiles
}

/** @param onFile called with each further file that the configuration references */
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

/** Returns the path, and the file that it links to if changes of that can be watched. */
function withTarget (path: string): readonly string[] {
  try {
    const target = realpathSync(path)
    accessSync(dirname(target), constants.R_OK)
    return [path, target]
  } catch {
    return [path]
  }
}

/** Returns true for a `.env` with variables; an unreadable one is a problem of the configuration. */
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
      message: `no longer has any ${what}; restart the gateway to run without them`
    }
  ])
}

/** Returns a digest, so that no copy of a secret is kept in cleartext. */
function digest (settings: Settings): string {
  return createHash('sha256').update(printSettings(settings)).digest('base64')
}
