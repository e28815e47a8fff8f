/**
 * `headgate dashboard`: creates a link that signs in to the dashboard, for the owner or for a user who is
 * locked out.
 */

import { parseArgs } from 'node:util'
import { Accounts } from '../accounts/accounts.ts'
import { commandLineActor } from '../accounts/audit-log.ts'
import { loadSettings } from '../config/read-settings.ts'
import { isDashboardServed } from '../dashboard/is-served.ts'
import { dashboardLink } from '../dashboard/link.ts'
import { urlOf } from '../http/listen.ts'
import { runningAt } from '../process/running-gateway.ts'
import { CommandError } from '../process/terminal.ts'
import { openDatabase } from '../stores/open-database.ts'
import type { Command } from './command.ts'

const options = { config: { type: 'string', short: 'c' }, user: { type: 'string' } } as const

export const dashboard: Command = {
  usage: `Usage: headgate dashboard link [--user EMAIL]

Prints a link that signs in to the dashboard, once and within an hour; any earlier link stops working. It needs no
password: use it after the first start, or when one is forgotten.

  --user EMAIL   the user who signs in; default: the first owner
  -c, --config FILE`,

  run: async (args, { out, ...terminal }) => {
    const {
      values: { config, user: email },
      positionals: [action, ...others]
    } = parseArgs({ args: [...args], options, allowPositionals: true })
    if (action !== 'link' || others.length > 0) {
      throw new CommandError('use "headgate dashboard link"', { exitCode: 2 })
    }
    const settings = loadSettings({ ...terminal, file: config })
    if (!isDashboardServed(settings)) {
      throw new CommandError('this configuration serves no dashboard: see dashboard.enabled')
    }
    const database = await openDatabase(settings)
    try {
      const accounts = new Accounts(database)
      const { token } = await linkOf(accounts, email)
      const { server: { dataDir, publicUrl, tls } } = settings
      const running = runningAt(dataDir)
      if (running === undefined) {
        terminal.notice(
          `No gateway runs here with the data directory ${dataDir}: the link works once one does, at this address.`
        )
      }
      out(
        dashboardLink(
          publicUrl ?? running ?? urlOf({ ...settings.server, secure: tls !== undefined }),
          token
        )
      )
    } finally {
      await database.close()
    }
    return 0
  }
}

/** @throws CommandError for an unknown email */
async function linkOf (accounts: Accounts, email: string | undefined): Promise<{ readonly token: string }> {
  if (email === undefined) return await accounts.createOwnerLink(commandLineActor)
  const user = await accounts.users.findByEmail(email)
  if (user === undefined || user.disabled_at_ms !== null) {
    throw new CommandError(`no active user has the email "${email}"`)
  }
  await accounts.audit.add(commandLineActor, { action: 'link.create', subject: user })
  return await accounts.links.createSignIn(user.id)
}
