/** Creates the link with which the owner of a new gateway signs in to the dashboard. */

import { isDashboardServed } from '../dashboard/is-served.ts'
import type { Settings } from '../core/settings.ts'
import type { Database } from '../stores/database.ts'
import type { Terminal } from './terminal.ts'

/**
 * Creates a one-time link if no user exists and a person reads the terminal; a log must not contain it.
 *
 * @returns its token
 */
export async function createFirstLink (
  database: Database,
  settings: Settings,
  { interactive }: Pick<Terminal, 'interactive'>
): Promise<string | undefined> {
  if (!interactive || !isDashboardServed(settings)) return undefined
  const { Accounts } = await import('../accounts/accounts.ts')
  const accounts = new Accounts(database)
  return await accounts.users.exist() ? undefined : (await accounts.createOwnerLink()).token
}
