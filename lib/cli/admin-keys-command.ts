/**
 * `headgate admin-keys`: creates, lists and revokes admin keys, so that a program can set up a gateway
 * without a browser.
 */

import { parseArgs } from 'node:util'
import { roleNames, type Role, type Scope } from '../../schemas/admin/common.ts'
import { scopeNames } from '../../schemas/admin/scope-names.ts'
import { Accounts } from '../accounts/accounts.ts'
import { commandLineActor } from '../accounts/audit-log.ts'
import { loadSettings } from '../config/read-settings.ts'
import { nearestWord } from '../text/nearest-word.ts'
import { openDatabase } from '../stores/open-database.ts'
import { CommandError, type ExitCode, type Terminal } from '../process/terminal.ts'
import { refuseArguments, requiredName, type Command } from './command.ts'
import { parseExpiry } from './parse-date.ts'
import { table } from './table.ts'

const options = {
  config: { type: 'string', short: 'c' },
  name: { type: 'string' },
  role: { type: 'string', default: 'owner' },
  scopes: { type: 'string', multiple: true },
  expires: { type: 'string' },
  json: { type: 'boolean', default: false }
} as const

export const adminKeys: Command = {
  usage: `Usage: headgate admin-keys create --name NAME [--role ROLE] [--scopes SCOPE,…] [--expires WHEN]
       headgate admin-keys list [--json]
       headgate admin-keys revoke ID

A key for the admin API (/admin/v1) is printed once, when it is created; only its digest is stored.

  --name NAME      name in lists and in the audit log
  --role ROLE      ${roleNames.join(', ')}; default: owner
  --scopes SCOPE,… limit the key to these scopes of its role (see below); default: all
  --expires WHEN   a date (2030-12-31), a time (2030-12-31T18:00:00Z) or a duration (30d, 12h); default: never
  -c, --config FILE
  --json

Scopes: ${scopeNames.join(', ')}`,

  run: async (args, terminal) => {
    const {
      values,
      positionals: [action = '', ...rest]
    } = parseArgs({ args: [...args], allowPositionals: true, options })
    const prepare = actions.get(action)
    if (prepare === undefined) {
      const meant = nearestWord(action, actions.keys())
      throw new CommandError(
        meant === undefined ? 'use create, list or revoke' : `did you mean "${meant}"?`,
        { exitCode: 2 }
      )
    }
    refuseArguments(rest.slice(action === 'revoke' ? 1 : 0))
    const perform = prepare(values, rest)
    const database = await openDatabase(loadSettings({ ...terminal, file: values.config }))
    try {
      return await perform(new Accounts(database), terminal)
    } finally {
      await database.close()
    }
  }
}

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']
type Perform = (accounts: Accounts, terminal: Terminal) => Promise<ExitCode>

/** Checks the arguments of each action before the store is opened. */
const actions: ReadonlyMap<string, (values: Values, rest: readonly string[]) => Perform> = new Map([
  ['create', create],
  ['list', list],
  ['revoke', revoke]
])

function create ({ name: given, role, scopes, expires, json }: Values): Perform {
  const name = requiredName(given)
  const wanted = {
    name,
    role: oneOf<Role>(role, roleNames, '--role'),
    scopes: scopes
      ?.flatMap(value => value.split(','))
      .map(scope => oneOf<Scope>(scope.trim(), scopeNames, '--scopes')),
    expiresAtMs: expires === undefined ? undefined : parseExpiry(expires)
  }
  return async ({ adminKeys, audit }, { out }) => {
    const { key, secret } = await adminKeys.create({ ...wanted, createdBy: commandLineActor.name })
    const { role, scopes, expires_at_ms } = key
    await audit.add(commandLineActor, {
      action: 'admin_key.create',
      subject: key,
      after: { name, role, scopes, expires_at_ms }
    })
    out(
      json
        ? JSON.stringify({ id: key.id, name, key: secret }, null, 2)
        : `${secret}\n\nCreated "${name}" (${key.id}). Save the key now: it is not shown again.`
    )
    return 0
  }
}

function list ({ json }: Values): Perform {
  return async ({ adminKeys }, { out }) => {
    const { data } = await adminKeys.list({ limit: 1000 })
    const time = (ms: number | null): string =>
      ms === null ? 'never' : new Date(ms).toISOString().slice(0, 16)
    if (json) out(JSON.stringify(data, null, 2))
    else if (data.length === 0) out('No admin keys.')
    else {
      out(
        table([
          ['ID', 'NAME', 'ROLE', 'SCOPES', 'EXPIRES', 'LAST USED', 'CREATED BY'],
          ...data.map(key => [
            key.id,
            key.name,
            key.role,
            key.scopes?.join(',') ?? 'all',
            time(key.expires_at_ms),
            time(key.last_used_at_ms),
            key.created_by ?? ''
          ])
        ])
      )
    }
    return 0
  }
}

function revoke (_values: Values, [id]: readonly string[]): Perform {
  if (id === undefined) throw new CommandError('the id of an admin key is required', { exitCode: 2 })
  return async ({ adminKeys, audit }, { out }) => {
    const revoked = await adminKeys.revoke(id)
    if (revoked === undefined) throw new CommandError(`no admin key has the id "${id}"`)
    await audit.add(commandLineActor, { action: 'admin_key.revoke', subject: revoked })
    out(`Revoked "${revoked.name}" (${id}).`)
    return 0
  }
}

/** @throws CommandError for any other word */
function oneOf<Word extends string> (text: string, words: readonly Word[], option: string): Word {
  const found = words.find(word => word === text)
  if (found !== undefined) return found
  const meant = nearestWord(text, words)
  throw new CommandError(
    `${option} ${text} is unknown; ${meant === undefined ? `use ${words.join(', ')}` : `did you mean "${meant}"?`}`,
    { exitCode: 2 }
  )
}
