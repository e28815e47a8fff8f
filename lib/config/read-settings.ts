/**
 * Reads checked `Settings` from file, environment and defaults.
 *
 *     const settings = loadSettings({ env: process.env, cwd: process.cwd() })
 *
 * The environment takes precedence over the file, the file over the defaults of `schemas/config`. All
 * problems are reported together, each with its location; nothing is skipped or guessed.
 */

import { readTextFile } from '../net/read-regular-file.ts'
import { isObject } from '../json/type-guards.ts'
import { providerLabels } from '../../schemas/providers.ts'
import { existsSync } from 'node:fs'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { buildSettings, environmentKeys } from './build-settings.ts'
import { checkConnections } from './check-connections.ts'
import { readProxies } from './read-proxies.ts'
import { catalogueOf } from '../models/catalogue.ts'
import { checkShape } from './check-shape.ts'
import type { Config } from '../../schemas/config.ts'
import type { KnownNames } from './check-models.ts'
import { checkKeyValues } from './check-key-values.ts'
import { checkCrossReferences } from './check-cross-references.ts'
import { acceptEarlierNames } from './earlier-names.ts'
import { emptyDocument, readDocument, type ConfigDocument } from './config-document.ts'
import { applyEnvironment, errorCode, readEnvironment } from './environment.ts'
import { namedFiles, type NamedFiles } from './named-files.ts'
import { ConfigError, type Problem } from './problems.ts'
import { readCatalogueFile } from './read-catalogue.ts'
import { Secret } from '../core/secret.ts'
import { readSecrets } from './read-secrets.ts'
import { createReport, reportFor, type Report } from './report.ts'
import { warnOfUnknownVariables } from './unknown-variables.ts'
import type { CatalogueSettings, Settings } from '../core/settings.ts'

export interface ConfigSources {
  /** `process.env`; a `.env` file in `cwd` adds to it. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Default: `HEADGATE_CONFIG`, else `headgate.yaml` if it exists; relative to `cwd`. */
  readonly file?: string | undefined
  /** The text to use instead of the file's. */
  readonly text?: string | undefined
  /**
   * For a draft: the only files outside the configuration's directory that it may reference. Default: all.
   */
  readonly filesInUse?: ReadonlySet<string>
  /** The entries of a configuration, given instead of a file. */
  readonly config?: Readonly<Record<string, unknown>>
}

/**
 * Reads the configuration.
 *
 * @throws ConfigError with all problems of the file and the environment.
 */
export function loadSettings (sources: ConfigSources): Settings {
  return readSettings(sources).settings
}

/** Valid settings and their warnings. */
export interface ReadSettings {
  readonly settings: Settings
  /** True if they were read from a file. */
  readonly hasFile: boolean
  /** True if that file has entries, not just comments. */
  readonly hasEntries: boolean
  /** The text of that file; empty without a file. */
  readonly text: string
  readonly warnings: readonly Problem[]
  /** The entries that the settings are built from, and their names. */
  readonly checked: CheckedConfig
}

/** A configuration without problems. */
export interface CheckedConfig {
  readonly config: Config
  readonly known: KnownNames
}

/** Settings that are in effect in a process. */
export type AppliedConfiguration = Omit<ReadSettings, 'warnings' | 'checked'>

/**
 * Reads the configuration and returns its settings with their warnings.
 *
 * @param onFile called with the path of each further file that the configuration references, even if there
 *   are problems
 */
export function readSettings (
  sources: ConfigSources,
  onFile: (path: string) => void = () => {}
): ReadSettings {
  const { env, cwd } = sources
  const environment = readEnvironment(env, cwd)
  const file = configFile(sources)
  const hasFile = existsSync(file.path)
  const document = readFile(sources)
  const { value, text } = document
  const hasEntries = Object.keys(value).length > 0
  const report = createReport(document, applyEnvironment(value, environment))
  acceptEarlierNames(value, report)
  warnOfUnknownVariables(environment, value, report)
  if (typeof value.dashboard === 'boolean') value.dashboard = { enabled: value.dashboard }
  const providerNames = isObject(value.providers) ? Object.keys(value.providers) : []
  const files = namedFiles(dirname(file.path), sources.filesInUse)
  const secrets = readSecrets(value, { environment, files }, report)
  if (isObject(value.providers)) {
    for (const label of providerLabels) value.providers[label] ??= { enabled: false }
  }
  const { config, written } = checkShape(value, report)
  const catalogue = readCatalogue(config.catalogue, { directory: dirname(file.path), cwd, files }, report)
  files.named.forEach(onFile)
  const ownKeys = environmentKeys(environment.get('HEADGATE_API_KEYS'))
  const adminText = environment.get('HEADGATE_ADMIN_KEY')
  const adminKey = adminText === undefined ? undefined : new Secret(adminText)
  const known: KnownNames = { providerNames, catalogue: catalogueOf({ catalogue }).models }
  checkCrossReferences(config, known, reportFor(report, written))
  checkKeyValues(config, { secrets, ownKeys, adminKey }, reportFor(report, written))
  const proxies = readProxies(environment, report)
  checkConnections(config, { secrets, proxies }, reportFor(report, written))
  report.throwIfAny()
  return {
    settings: buildSettings(config, {
      secrets,
      ownKeys,
      adminKey,
      cwd,
      directory: dirname(file.path),
      proxies,
      catalogue
    }),
    hasFile,
    hasEntries,
    text,
    warnings: report.warnings(),
    checked: { config, known }
  }
}

/** Reads the `catalogue` file; `undefined` if there is none or it cannot be used. */
function readCatalogue (
  file: string | undefined,
  { directory, cwd, files }: { readonly directory: string, readonly cwd: string, readonly files: NamedFiles },
  report: Report
): CatalogueSettings | undefined {
  if (file === undefined) return undefined
  const path = resolve(directory, file)
  const found = readCatalogueFile(path, shownName(path, cwd), files.read)
  if (typeof found === 'string') {
    report.add(['catalogue'], found === 'ENOENT' ? 'file not found' : `cannot be read (${found})`)
    return undefined
  }
  report.include(found.problems)
  return found.catalogue && { ...found.catalogue, file }
}

export interface ConfigFile {
  /** Absolute. */
  readonly path: string
  /** True if this file was requested explicitly and must exist. */
  readonly explicit: boolean
}

/** Returns the path of the configuration file. */
export function configFile ({ env, cwd, file }: ConfigSources): ConfigFile {
  const named = file ?? readEnvironment(env, cwd).get('HEADGATE_CONFIG')
  return { path: resolve(cwd, named ?? 'headgate.yaml'), explicit: named !== undefined }
}

/** Reads the entries of the file, or those given instead of it. @throws ConfigError */
export function readFile (sources: ConfigSources): ConfigDocument {
  if (sources.config !== undefined) return documentOf(sources.config)
  const file = configFile(sources)
  return sources.text === undefined
    ? openDocument(file, sources.cwd)
    : readDocument(sources.text, shownName(file.path, sources.cwd))
}

/** Copied, because the environment is written into it. */
function documentOf (config: Readonly<Record<string, unknown>>): ConfigDocument {
  return { ...emptyDocument('configuration'), value: structuredClone(config) }
}

function openDocument ({ path, explicit }: ConfigFile, cwd: string): ConfigDocument {
  const shown = shownName(path, cwd)
  try {
    return readDocument(readTextFile(path), shown)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const code = errorCode(error)
    if (code === 'ENOENT' && !explicit) return emptyDocument(shown)
    const message = code === 'ENOENT' ? 'file not found' : `cannot be read (${code})`
    throw new ConfigError([{ file: shown, line: 0, column: 0, path: '', message }])
  }
}

/** Returns a path as the operator would write it: relative if below the working directory. */
export function shownName (path: string, cwd: string): string {
  const name = relative(cwd, path)
  return name.startsWith('..') || isAbsolute(name) ? path : name
}
