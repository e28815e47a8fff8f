/** `headgate import`: converts the configuration of another gateway. */

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { applyImport } from '../accounts/apply-import.ts'
import { readDocument } from '../config/config-document.ts'
import { printDocument } from '../config/print-document.ts'
import { ConfigError, formatProblems } from '../config/problems.ts'
import { readSettings } from '../config/read-settings.ts'
import { Secret } from '../core/secret.ts'
import { importBifrostConfig } from '../import/bifrost-config.ts'
import { importLitellmConfig } from '../import/litellm-config.ts'
import { readLitellmFile } from '../import/read-litellm-file.ts'
import {
  importLitellmDatabase,
  litellmTables,
  tablePrefix
} from '../import/litellm-database.ts'
import { decryption, loadOpenBox } from '../import/litellm-decryption.ts'
import { verdicts, type PlanRow } from '../import/plan.ts'
import { variableIn } from '../import/secrets.ts'
import { isEmpty, objectOrEmpty } from '../import/values.ts'
import { errorCode } from '../config/environment.ts'
import { readTextFile } from '../net/read-regular-file.ts'
import { replaceFile } from '../net/replace-file.ts'
import { openDatabase } from '../stores/open-database.ts'
import { readForeignTables, type ForeignTables } from '../stores/postgres/read-foreign-tables.ts'
import { serverAddress } from '../stores/postgres/server-address.ts'
import { CommandError, type Terminal } from '../process/terminal.ts'
import type { ImportedConfig } from '../import/imported-config.ts'
import type { ImportedOrganisation } from '../accounts/imported-organisation.ts'
import { nonEmptyText, type JsonObject } from '../json/type-guards.ts'
import type { Command } from './command.ts'
import { table } from './table.ts'

/** Supported gateways, and the file with their configuration. */
const sources = { bifrost: 'config.json', litellm: 'config.yaml' } as const
type Source = keyof typeof sources

/** The first line of what this command writes: a file without it is not overwritten. */
const markOf = (source: Source): string => `# Written by "headgate import ${source}".`

const options = {
  config: { type: 'string', short: 'c' },
  database: { type: 'string' },
  apply: { type: 'boolean', default: false },
  'keep-config': { type: 'boolean', default: false },
  out: { type: 'string', default: 'headgate.yaml' },
  secrets: { type: 'string', default: 'headgate.env' },
  json: { type: 'boolean', default: false }
} as const

export const importCommand: Command = {
  usage: `Usage: headgate import litellm [--config FILE] [--database URL] [--apply] [OPTIONS]
       headgate import bifrost --config FILE [--apply] [OPTIONS]

Converts the config.yaml of LiteLLM's proxy, and imports its keys, teams, users, budgets and spending from its
database; or converts the config.json of Bifrost, which holds its virtual keys as well. Without --apply it only
prints the plan, which says of each entry and each column: exact, approximate, manual (you have to do
something) or unsupported. The other gateway is never changed.

Existing keys keep working. Run it again while both gateways serve: changes there are carried over, and keys
that were blocked or deleted there are revoked.

Exits with 1 when an entry is unsupported.

  --config FILE       the config.yaml of LiteLLM, or the config.json of Bifrost
  --database URL      the PostgreSQL of LiteLLM, postgres://user:password@host/name, or env:NAME for a
                      variable that holds the address; it is only read. Encrypted values are decrypted
                      with LITELLM_SALT_KEY, else with the master key
  --apply             write the files and fill the store; files written by an earlier run are replaced
  --keep-config       leave the configuration as it is; bring keys, projects and users only
  --out FILE          the configuration to write (default: headgate.yaml)
  --secrets FILE      where to write secrets found in the file or in the database, as variables, readable
                      by you alone (default: headgate.env)
  --json              print {"rows": [...], "config": {...}, "variables": [...]}, and with keys the numbers
                      "keys", "projects" and "users"`,

  run: async (args, terminal) => {
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options })
    const [source] = positionals
    if (positionals.length !== 1 || !isSource(source)) {
      const message = 'name what to import: "headgate import litellm" or "headgate import bifrost".'
      throw new CommandError(message, { exitCode: 2 })
    }
    if (values.database !== undefined && source !== 'litellm') {
      throw new CommandError('--database is for LiteLLM only: leave it out.', { exitCode: 2 })
    }
    if (values.config === undefined && values.database === undefined) {
      const other = source === 'litellm' ? ', or --database' : ''
      const message = `--config is missing: the ${sources[source]}${other}.`
      throw new CommandError(message, { exitCode: 2 })
    }
    const imported = await read(source, values, terminal)
    const variables = variablesOf(imported)
    const { organisation } = imported
    const counts = organisation === undefined
      ? {}
      : {
          keys: organisation.keys.length,
          projects: organisation.projects.length,
          users: organisation.users.length
        }
    if (values.json) {
      const { rows, config } = imported
      terminal.out(JSON.stringify({ rows, config, variables, ...counts }, null, 2))
    } else print(imported.rows, counts, terminal)
    if (values.apply) {
      const { missing = [] } = imported
      // keys that are not read would count as gone
      if (missing.length > 0) {
        throw new CommandError(`set ${missing.join(', ')}: virtual keys are read from there.`)
      }
      // a database without models has no configuration to replace one with
      const hasConfig = values.config !== undefined || !isEmpty(objectOrEmpty(imported.config['providers']))
      const writes = hasConfig && !values['keep-config']
      if (writes) writeFiles({ ...values, mark: markOf(source) }, imported, variables, terminal)
      if (organisation !== undefined) {
        const file = writes ? values.out : undefined
        await fillStore(organisation, { source, file, variables, isQuiet: values.json }, terminal)
      }
    }
    return imported.rows.some(({ verdict }) => verdict === 'unsupported') ? 1 : 0
  }
}

interface Values {
  readonly config?: string | undefined
  readonly database?: string | undefined
  readonly out: string
  readonly secrets: string
  readonly json: boolean
}

interface Imported extends ImportedConfig {
  readonly organisation?: ImportedOrganisation
  /** Variables without which some keys cannot be read. */
  readonly missing?: readonly string[]
}

function isSource (name: string | undefined): name is Source {
  return name !== undefined && Object.hasOwn(sources, name)
}

async function read (source: Source, { config, database }: Values, terminal: Terminal): Promise<Imported> {
  const textOfFile = (path: string): string => readText(resolve(terminal.cwd, path), path)
  if (source === 'bifrost') {
    const file = config === undefined ? {} : readDocument(textOfFile(config), config).value
    return importBifrostConfig(file, terminal.env, Date.now())
  }
  const file = config === undefined ? {} : readLitellmFile(config, textOfFile)
  if (database === undefined) return importLitellmConfig(file, { env: terminal.env })
  const tables = await readTables(database, terminal)
  const decrypted = decryption(saltKeyOf(file, terminal), await loadOpenBox())
  return importLitellmDatabase(file, tables, decrypted, Date.now(), terminal.env)
}

async function readTables (database: string, { env }: Terminal): Promise<ForeignTables> {
  const [, variable] = /^env:(\w+)$/.exec(database) ?? []
  const address = variable === undefined ? database : env[variable] ?? ''
  if (serverAddress(address) === undefined) {
    const what = variable === undefined ? '--database' : variable
    const message = `${what} must be an address such as postgres://user:password@host/name.`
    throw new CommandError(message, { exitCode: 2 })
  }
  let tables: ForeignTables
  try {
    tables = await readForeignTables(new Secret(address), tablePrefix, litellmTables)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`the database of LiteLLM cannot be read: ${reason}.`, { cause: error })
  }
  if (!tables.rows.has('LiteLLM_VerificationToken')) {
    throw new CommandError('the database has no table LiteLLM_VerificationToken: is this the database of LiteLLM?')
  }
  return tables
}

/** Returns the key that LiteLLM encrypts with: the salt key, else the master key. */
function saltKeyOf (file: JsonObject, { env }: Terminal): string {
  const master = nonEmptyText(objectOrEmpty(file['general_settings'])['master_key'])
  const variable = variableIn(master)
  const masterKey = variable === undefined ? master : env[variable]
  return env['LITELLM_SALT_KEY'] ?? masterKey ?? env['LITELLM_MASTER_KEY'] ?? ''
}

/** @throws CommandError when a file belongs to someone else, or the configuration would not be valid */
function writeFiles (
  values: Values & { readonly mark: string },
  imported: Imported,
  variables: readonly string[],
  terminal: Terminal
): void {
  const [out, secrets] = [resolve(terminal.cwd, values.out), resolve(terminal.cwd, values.secrets)]
  if (out === secrets) throw new CommandError('--out and --secrets name the same file.', { exitCode: 2 })
  const { mark } = values
  checkReplaceable(out, values.out, mark)
  if (imported.secrets.size > 0) checkReplaceable(secrets, values.secrets, mark)
  write(out, `${mark}\n${printDocument(imported.config)}`, 0o644, file => {
    checkConfiguration(file, variables, terminal)
    // Before the configuration takes its place: a gateway that watches it needs them.
    if (imported.secrets.size > 0) {
      write(secrets, `${mark}\n${printVariables(imported.secrets)}`, 0o600)
    }
  })
  if (!values.json) sayWritten(values, imported, variables, terminal)
}

interface Filling {
  readonly source: Source
  /** The configuration that was written just now; absent: the one that any command reads. */
  readonly file: string | undefined
  readonly variables: readonly string[]
  readonly isQuiet: boolean
}

async function fillStore (
  organisation: ImportedOrganisation,
  { source, file, variables, isQuiet }: Filling,
  { env, cwd, out }: Terminal
): Promise<void> {
  // variables of providers, which the store does not need, are set later
  const later = file === undefined ? {} : Object.fromEntries(variables.map(name => [name, 'set-later']))
  const { settings } = readSettings({ env: { ...later, ...env }, cwd, file })
  const database = await openDatabase(settings)
  try {
    const applied = await applyImport(database, source, organisation)
    if (isQuiet) return
    const { projects, users, added, changed, revoked, left } = applied
    out(`\nIn ${database.name}: ${projects} projects and ${users} users are new.`)
    out(`Keys: ${added} new, ${changed} changed, ${revoked} revoked; ${left} revoked here stay revoked.`)
  } finally {
    await database.close()
  }
}

function readText (path: string, shown: string): string {
  try {
    return readTextFile(path)
  } catch (error) {
    throw new CommandError(`${shown} cannot be read: ${errorCode(error)}.`, { cause: error })
  }
}

function print (
  rows: readonly PlanRow[],
  counts: Readonly<Record<string, number>>,
  { out }: Terminal
): void {
  const sorted = verdicts.toReversed().flatMap(verdict => rows.filter(row => row.verdict === verdict))
  out(table(sorted.map(({ verdict, path, note }) => [verdict, path, note])))
  const sums = verdicts.map(verdict => `${rows.filter(row => row.verdict === verdict).length} ${verdict}`)
  out(`\n${rows.length} entries: ${sums.join(', ')}.`)
  const found = Object.entries(counts).map(([what, count]) => `${count} ${what}`)
  if (found.length > 0) out(`In the database: ${found.join(', ')}.`)
}

/** Returns the variables that the configuration reads secrets from. */
function variablesOf ({ config }: Imported): string[] {
  const references = JSON.stringify(config).matchAll(/"env:([A-Za-z_]\w*)"/g)
  return [...new Set([...references].map(([, name = '']) => name))]
}

/** @throws CommandError for a file that someone else wrote */
function checkReplaceable (path: string, shown: string, mark: string): void {
  if (existsSync(path) && !readText(path, shown).startsWith(mark)) {
    throw new CommandError(`${shown} exists, and this command did not write it: choose another name.`)
  }
}

/**
 * As shells, systemd and Docker read them: Docker takes quotes literally, so there are as few as possible.
 */
function printVariables (secrets: ReadonlyMap<string, string>): string {
  const quoted = (value: string): string =>
    /^[\w./:@%+=,-]*$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`
  return [...secrets].map(([name, value]) => `${name}=${quoted(value)}\n`).join('')
}

/** Replaces a file as `replaceFile` does. @throws CommandError */
function write (...file: Parameters<typeof replaceFile>): void {
  try {
    replaceFile(...file)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${file[0]} cannot be written: ${errorCode(error)}.`, { cause: error })
  }
}

/** Checks a configuration as `headgate check` does, with a value for each variable. */
function checkConfiguration (file: string, variables: readonly string[], { cwd }: Terminal): void {
  try {
    readSettings({ env: Object.fromEntries(variables.map(name => [name, 'set-later'])), cwd, file })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new CommandError(
      `nothing was written: the configuration would not be valid.\n${formatProblems(error)}`,
      { cause: error }
    )
  }
}

function sayWritten (
  { out: file, secrets: secretsFile }: { readonly out: string, readonly secrets: string },
  { secrets }: ImportedConfig,
  variables: readonly string[],
  { out, env }: Terminal
): void {
  out(`\nWritten: ${file}${secrets.size === 0 ? '' : ` and ${secretsFile}`}.`)
  const missing = variables.filter(name => !secrets.has(name) && env[name] === undefined)
  if (missing.length > 0) out(`Set these variables before you start it: ${missing.join(', ')}.`)
}
