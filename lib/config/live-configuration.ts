/** The configuration of a running process: shows it, tracks reloads and saves the file. */

import { realpathSync, statSync } from 'node:fs'
import { createHash } from 'node:crypto'
import type { Configuration, ConfigurationCheck } from '../../schemas/admin/configuration.ts'
import { WorkQueue } from '../async/work-queue.ts'
import { runInWorker } from '../async/run-in-worker.ts'
import type { CallSignal } from '../core/call.ts'
import { readTextFile } from '../net/read-regular-file.ts'
import { replaceFile } from '../net/replace-file.ts'
import { GatewayError } from '../core/errors.ts'
import { changedEntries, restartOnlyChanges } from './changed-entries.ts'
import { problemsOf, wireProblems, type Draft } from './check-draft.ts'
import { effectiveEntries } from './effective-entries.ts'
import { errorCode } from './environment.ts'
import type { Problem } from './problems.ts'
import {
  configFile,
  readSettings,
  shownName,
  type AppliedConfiguration,
  type ConfigSources
} from './read-settings.ts'

type Reload = Configuration['reloads'][number]

const maxReloads = 50
/** Timeout for checking a draft, in milliseconds. The largest takes four seconds on a busy machine. */
const checkMs = 20_000
const checkLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 64 }
const checks = new WorkQueue(1)

/** Who requested a check. */
export interface Checker {
  readonly id: string
  readonly signal: CallSignal
}

export class LiveConfiguration {
  /** True while the last configuration read is invalid. */
  isInvalid = false
  readonly #sources: ConfigSources
  readonly #started: AppliedConfiguration
  #current: AppliedConfiguration
  #reloads: readonly Reload[] = []
  #entries: Configuration['entries'] = []

  /**
   * @param started what the gateway was started with
   * @param current the configuration in effect. Default: the same
   */
  constructor (sources: ConfigSources, started: AppliedConfiguration, current = started) {
    this.#sources = sources
    this.#started = started
    this.#current = current
  }

  /** Records that another configuration is now in effect. */
  reloaded (next: AppliedConfiguration): Reload {
    const reload = {
      at_ms: Date.now(),
      changed: changedEntries(this.#current.settings, next.settings),
      needs_restart: restartOnlyChanges(this.#started.settings, next.settings)
    }
    this.#current = next
    this.isInvalid = false
    this.#reloads = [reload, ...this.#reloads].slice(0, maxReloads)
    return reload
  }

  /**
   * Describes the configuration in effect. If the file has problems, they are listed as warnings, and the
   * entries are those still in effect.
   */
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
      file: text === null ? null : shownName(path, this.#sources.cwd),
      text,
      revision: digestOf(text),
      editable,
      entries: this.#entries,
      warnings: wireProblems(warnings),
      reloads: [...this.#reloads]
    }
  }

  /**
   * Reads a draft like the file, in a worker thread.
   *
   * @throws GatewayError `invalid_value` for a draft that takes too long or too much memory
   */
  async check (draft: string, { id, signal }: Checker): Promise<ConfigurationCheck> {
    const env = { ...this.#sources.env }
    const workerData: Draft = {
      sources: { ...this.#sources, env },
      draft,
      file: this.#text() ?? '',
      current: this.#current.text,
      started: this.#started.text
    }
    const job = { workerData, limitMs: checkMs, resourceLimits: checkLimits, signal }
    const checked = await checks.run(
      id,
      async () => await runInWorker(new URL('./check-worker.js', import.meta.url), job),
      signal
    )
    if (checked === undefined) {
      throw new GatewayError('invalid_value', {
        param: 'text',
        message: 'The draft takes too long to check.'
      })
    }
    return checked as ConfigurationCheck // as posted by `check-worker`
  }

  /**
   * Saves a new text of the file, which the process then loads like any other change.
   *
   * @param revision the revision of the text it was based on
   * @throws GatewayError `conflict` if the file has changed since, `invalid_value` for a text with problems
   *   or if the file cannot be written
   */
  async save (text: string, revision: string, checker: Checker): Promise<ConfigurationCheck> {
    this.#expectRevision(revision)
    const check = await this.check(text, checker)
    const [problem] = check.problems
    if (problem !== undefined) {
      throw new GatewayError('invalid_value', {
        param: 'text',
        message: `Line ${problem.line}: ${problem.path} ${problem.message}.`
      })
    }
    this.#expectRevision(revision) // another request may have saved by now
    const path = realpathSync(configFile(this.#sources).path)
    try {
      replaceFile(path, text, statSync(path).mode & 0o777)
    } catch (error) {
      throw new GatewayError('invalid_value', {
        message: `The file of the configuration cannot be written (${errorCode(error)}).`
      })
    }
    return check
  }

  #expectRevision (revision: string): void {
    const text = this.#text()
    if (text === null || digestOf(text) !== revision) {
      throw new GatewayError('conflict', {
        param: 'revision',
        message: 'The file has changed since it was read. Load it again.'
      })
    }
  }

  /** Returns the text of the file; `null` without a file. */
  #text (): string | null {
    try {
      return readTextFile(configFile(this.#sources).path)
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return null
      throw new GatewayError('invalid_value', {
        message: `The file of the configuration cannot be read (${errorCode(error)}).`
      })
    }
  }
}

function digestOf (text: string | null): string {
  return createHash('sha256').update(text ?? '').digest('base64url')
}
