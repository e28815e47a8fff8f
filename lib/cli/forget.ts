/** `headgate forget`: deletes the data of an end user. */

import { parseArgs } from 'node:util'
import { AuditLog, commandLineActor } from '../accounts/audit-log.ts'
import { loadSettings } from '../config/read-settings.ts'
import { CommandError } from '../process/terminal.ts'
import { requireStore } from './existing-store.ts'
import { forgetEndUser } from '../stores/forget-end-user.ts'
import { openDatabase } from '../stores/open-database.ts'
import { statementRunner } from '../stores/use-store.ts'
import { clearCache } from './cache.ts'
import type { Command } from './command.ts'

const options = {
  config: { type: 'string', short: 'c' },
  'end-user': { type: 'string' }
} as const

export const forget: Command = {
  usage: `Usage: headgate forget --end-user NAME

Deletes the kept bodies, stored responses and deferred completions of an end user's calls, even while gateways
run, and every answer cached in Redis. The usage records stay, without end user, session, tags, metadata and
messages, and the audit log has an entry without the name. Calls in progress, logs, traces, files of
usage.exports, backups and providers are not covered.

  --end-user NAME   exactly as it was recorded, or as its caller gave it where records have digests
  -c, --config FILE`,

  run: async (args, terminal) => {
    const { values } = parseArgs({ args: [...args], options })
    const { config, 'end-user': endUser = '' } = values
    if (endUser === '') {
      throw new CommandError('name the end user: headgate forget --end-user NAME', { exitCode: 2 })
    }
    const settings = loadSettings({ ...terminal, file: config })
    requireStore(settings)
    const database = await openDatabase(settings)
    try {
      const { calls, responses, atProviders, deferred } = await forgetEndUser(database, endUser)
      // Not whom: that is forgotten as well.
      await new AuditLog(database.query, statementRunner(database, 'Audit entries')).add(commandLineActor, {
        action: 'end_user.forget', after: { calls, responses, deferred }
      })
      terminal.out(
        `Forgot the end user in ${calls} usage records, and deleted their bodies, ${responses} stored responses and ${deferred} deferred completions.`
      )
      if (atProviders > 0) {
        terminal.out(`Providers keep ${atProviders} of these responses as well: delete them there.`)
      }
    } finally {
      await database.close()
    }
    if (settings.cache.answers === undefined) return 0
    if (settings.coordination.url === undefined) {
      terminal.out(
        'Cached answers are in the memory of each process: reload its configuration to drop them.'
      )
    } else terminal.out(await clearCache(settings))
    return 0
  }
}
