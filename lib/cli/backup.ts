/** `headgate backup`: copies the store while gateways use it. */

import { existsSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { loadSettings } from '../config/read-settings.ts'
import { openDatabase } from '../stores/open-database.ts'
import { CommandError } from '../process/terminal.ts'
import { requireStore } from './existing-store.ts'
import type { Command } from './command.ts'

export const backup: Command = {
  usage: `Usage: headgate backup FILE [-c FILE]

Copies the store (keys, usage records, deferred answers) to FILE, even while gateways use it. The copy
is a consistent snapshot, readable by its owner only. To restore it, stop every gateway, replace
headgate.db in the data directory with the copy, and delete headgate.db-wal and headgate.db-shm.

Running gateways write usage records to the store twice a second, so the most recent ones may be missing.

  -c, --config FILE   default: HEADGATE_CONFIG, else headgate.yaml if it exists`,

  run: async (args, terminal) => {
    const { values: { config: file }, positionals: [name, ...others] } = parseArgs({
      args: [...args], allowPositionals: true, options: { config: { type: 'string', short: 'c' } }
    })
    if (name === undefined || others.length > 0) {
      throw new CommandError('the file to write the copy to is required', { exitCode: 2 })
    }
    const settings = loadSettings({ ...terminal, file })
    if (settings.store.url !== undefined) {
      throw new CommandError('the store is in PostgreSQL; copy it with pg_dump, which comes with PostgreSQL')
    }
    requireStore(settings)
    const target = resolve(terminal.cwd, name)
    if (existsSync(target)) throw new CommandError(`${target} exists already; name a new file`)
    const database = await openDatabase(settings.server.dataDir)
    try {
      database.copyTo(target)
    } catch (cause) {
      if (existsSync(target)) rmSync(target)
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new CommandError(`cannot write ${target}: ${reason}`, { cause })
    } finally {
      await database.close()
    }
    terminal.out(`Copied ${database.path} to ${target}.`)
    return 0
  }
}
