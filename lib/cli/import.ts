/** `headgate import`: makes a configuration of that of another gateway. */

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readDocument } from '../config/config-document.ts'
import { printDocument } from '../config/print-document.ts'
import { ConfigError, formatProblems } from '../config/problems.ts'
import { readSettings } from '../config/read-settings.ts'
import { importLitellmConfig, type ImportedConfig } from '../import/litellm-config.ts'
import { verdicts, type PlanRow } from '../import/plan.ts'
import { errorCode } from '../config/environment.ts'
import { CommandError, type Terminal } from '../process/terminal.ts'
import type { Command } from './command.ts'
import { table } from './table.ts'

/** The first line of what this command writes: a file without it is not replaced. */
const mark = '# Written by "headgate import litellm".'

export const importCommand: Command = {
  usage: `Usage: headgate import litellm --config FILE [--apply] [OPTIONS]

Makes a configuration of the config.yaml of LiteLLM's proxy. Without --apply it only says what would become
of each entry: exact, approximate, manual (you have to do something) or unsupported. LiteLLM is not changed.

Exits with 1 when an entry is unsupported.

  --config FILE       the config.yaml of LiteLLM
  --apply             write the files; those that this command wrote before are replaced
  --out FILE          the configuration to write (default: headgate.yaml)
  --secrets FILE      for secrets that stand in config.yaml in clear: variables, readable by you alone
                      (default: headgate.env)
  --json              print {"rows": [...], "config": {...}, "variables": [...]}`,

  run: async (args, terminal) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        config: { type: 'string', short: 'c' },
        apply: { type: 'boolean', default: false },
        out: { type: 'string', default: 'headgate.yaml' },
        secrets: { type: 'string', default: 'headgate.env' },
        json: { type: 'boolean', default: false }
      }
    })
    if (positionals.length !== 1 || positionals[0] !== 'litellm') {
      throw new CommandError('name what to import: "headgate import litellm".', { exitCode: 2 })
    }
    if (values.config === undefined) {
      throw new CommandError('--config is missing: the config.yaml of LiteLLM.', { exitCode: 2 })
    }
    const path = resolve(terminal.cwd, values.config)
    const imported = importLitellmConfig(readDocument(readText(path, values.config), values.config).value)
    const variables = variablesOf(imported)
    if (values.json) {
      const { rows, config } = imported
      terminal.out(JSON.stringify({ rows, config, variables }, null, 2))
    } else print(imported.rows, terminal)
    if (values.apply) {
      const [out, secrets] = [resolve(terminal.cwd, values.out), resolve(terminal.cwd, values.secrets)]
      if (out === secrets) throw new CommandError('--out and --secrets name the same file.', { exitCode: 2 })
      checkReplaceable(out, values.out)
      if (imported.secrets.size > 0) checkReplaceable(secrets, values.secrets)
      replaceFile(out, `${mark}\n${printDocument(imported.config)}`, 0o644, file => {
        checkConfiguration(file, variables, terminal)
      })
      if (imported.secrets.size > 0) {
        replaceFile(secrets, `${mark}\n${printVariables(imported.secrets)}`, 0o600)
      }
      if (!values.json) sayWritten(values, imported, variables, terminal)
    }
    return imported.rows.some(({ verdict }) => verdict === 'unsupported') ? 1 : 0
  }
}

function readText (path: string, shown: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CommandError(`${shown} cannot be read: ${errorCode(error)}.`, { cause: error })
  }
}

function print (rows: readonly PlanRow[], { out }: Terminal): void {
  const sorted = verdicts.toReversed().flatMap(verdict => rows.filter(row => row.verdict === verdict))
  out(table(sorted.map(({ verdict, path, note }) => [verdict, printable(path), printable(note)])))
  const counts = verdicts.map(verdict => `${rows.filter(row => row.verdict === verdict).length} ${verdict}`)
  out(`\n${rows.length} entries: ${counts.join(', ')}.`)
}

/** Replaces what would move the cursor of a terminal: names come from the file. */
function printable (text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '?')
}

/** Returns the variables that the configuration reads secrets from. */
function variablesOf ({ config }: ImportedConfig): string[] {
  const references = JSON.stringify(config).matchAll(/"env:([A-Za-z_]\w*)"/g)
  return [...new Set([...references].map(([, name = '']) => name))]
}

/** @throws CommandError for a file that someone else wrote */
function checkReplaceable (path: string, shown: string): void {
  if (existsSync(path) && !readFileSync(path, 'utf8').startsWith(mark)) {
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

/**
 * Puts a new file in the place of another one, all of it or nothing. @param check throws for one that must
 * not
 */
function replaceFile (
  path: string,
  text: string,
  mode: number,
  check: (file: string) => void = () => {}
): void {
  const written = `${path}.${process.pid}.new`
  try {
    writeFileSync(written, text, { mode, flag: 'wx' })
    check(written)
    renameSync(written, path)
  } finally {
    rmSync(written, { force: true })
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
