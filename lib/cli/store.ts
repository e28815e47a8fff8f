/** `headgate store`: creates the tables of the store, inspects it, and copies it into another. */

import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { loadSettings } from '../config/read-settings.ts'
import { Secret } from '../core/secret.ts'
import { nearestWord } from '../text/nearest-word.ts'
import { copyStore, countRows, type CopyProgress } from '../stores/copy-store.ts'
import { openDatabase } from '../stores/open-database.ts'
import { CommandError, type ExitCode, type Terminal } from '../process/terminal.ts'
import { requireStore } from './existing-store.ts'
import type { Database, StoreLocation } from '../stores/database.ts'
import type { Settings } from '../core/settings.ts'
import type { Command } from './command.ts'
import { table } from './table.ts'

const options = {
  config: { type: 'string', short: 'c' },
  from: { type: 'string' },
  to: { type: 'string' }
} as const

export const store: Command = {
  usage: `Usage: headgate store migrate
       headgate store check
       headgate store copy --from STORE --to STORE

migrate brings the tables of the store up to date, as a start does. check says whether the store can be
written, and how many rows it has. copy copies everything into another store and verifies the copy; stop
every gateway first. Run copy again to resume one that was interrupted.

  --from, --to STORE  sqlite:DIRECTORY (the data directory), postgres://user:password@host/name, or
                      env:NAME for a variable that holds the address
  -c, --config FILE`,

  run: async (args, terminal) => {
    const {
      values: { config, from, to },
      positionals: [action = '', ...others]
    } = parseArgs({ args: [...args], allowPositionals: true, options })
    const perform = actions.get(action)
    if (perform === undefined || others.length > 0) {
      const meant = nearestWord(action, actions.keys())
      throw new CommandError(
        meant === undefined ? 'use migrate, check or copy' : `did you mean "${meant}"?`,
        { exitCode: 2 }
      )
    }
    return await perform(loadSettings({ ...terminal, file: config }), terminal, { from, to })
  }
}

interface Places { readonly from: string | undefined, readonly to: string | undefined }

const actions: ReadonlyMap<
  string,
  (settings: Settings, terminal: Terminal, locations: Places) => Promise<ExitCode>
> = new Map([
  ['migrate', migrate],
  ['check', check],
  ['copy', copy]
])

async function migrate (settings: Settings, { out }: Terminal): Promise<ExitCode> {
  await using(settings, async ({ name }) => out(`The tables of ${name} are up to date.`))
  return 0
}

async function check (settings: Settings, { out }: Terminal): Promise<ExitCode> {
  await using(settings, async database => {
    await database.checkWritable()
    const tables = await countRows(database)
    out(
      `${database.name} is writable.\n\n${table([['TABLE', 'ROWS'], ...tables.map(([name, rows]) => [name, String(rows)])])}`
    )
  })
  return 0
}

async function copy (
  settings: Settings,
  { out, error, env, cwd }: Terminal,
  { from, to }: Places
): Promise<ExitCode> {
  if (from === undefined || to === undefined) {
    throw new CommandError('--from STORE and --to STORE are required', { exitCode: 2 })
  }
  const locate = (text: string): StoreLocation => locationOf(text, settings, { env, cwd })
  const origin = locate(from)
  requireStore(origin)
  return await using(
    origin,
    async source =>
      await using(locate(to), async target => {
        const differences = await copyStore(source, target, progressPrinter(error))
        if (differences.length === 0) {
          out(`Copied ${source.name} to ${target.name}; numbers of rows and sums are the same.`)
          return 0
        }
        error(
          `The stores differ, because one of them was written to:\n\n${table([
            ['TABLE', 'WHAT', 'FROM', 'TO'],
            ...differences.map(({ table, measure, from, to }) => [table, measure, String(from), String(to)])
          ])}`
        )
        return 1
      })
  )
}

async function using<T> (location: StoreLocation, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(location)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** @throws CommandError for anything but the address of a store */
function locationOf (
  text: string,
  { server, store }: Settings,
  { env, cwd }: Pick<Terminal, 'env' | 'cwd'>
): StoreLocation {
  const [, variable] = /^env:(\w+)$/.exec(text) ?? []
  const address = variable === undefined ? text : env[variable] ?? ''
  const { url: _, ...options } = store
  const [, path] = /^sqlite:(.+)$/.exec(address) ?? []
  if (path !== undefined) {
    return {
      server: { ...server, dataDir: resolve(cwd, path.endsWith('.db') ? dirname(path) : path) },
      store: options
    }
  }
  if (/^postgres(?:ql)?:\/\//.test(address)) {
    return { server, store: { ...options, url: new Secret(address) } }
  }
  throw new CommandError(
    `${variable === undefined ? 'a store' : text} must be sqlite:DIRECTORY or postgres://user:password@host/name`,
    { exitCode: 2 }
  )
}

/** Milliseconds between two progress lines for a table. */
const printEveryMs = 1000

/** Prints the progress of a copy: each table once it is done, and large ones every second. */
function progressPrinter (print: (text: string) => void): (progress: CopyProgress) => void {
  let printedMs = performance.now()
  return ({ table, rows, copied }) => {
    const isDone = copied >= rows
    if (!isDone && performance.now() - printedMs < printEveryMs) return
    printedMs = performance.now()
    print(`${table}: ${copied} of ${rows} rows`)
  }
}
