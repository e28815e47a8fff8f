/** `headgate apply`: creates and changes projects, users and keys according to a file, over the admin API. */

import { appendFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { AdminApiError, AdminClient } from '../apply/admin-client.ts'
import {
  planChanges, type ChangePlan, type FieldChange, type ShownOnce, type Step
} from '../apply/change-plan.ts'
import { readGatewayState } from '../apply/gateway-state.ts'
import { readOrganisationFile } from '../apply/organisation-file.ts'
import { errorCode } from '../config/environment.ts'
import { loadSettings } from '../config/read-settings.ts'
import { isLoopback } from '../net/loopback.ts'
import { readTextFile } from '../net/read-regular-file.ts'
import { runningAt } from '../process/running-gateway.ts'
import { CommandError, type Terminal } from '../process/terminal.ts'
import { printable } from '../text/printable.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import type { Command } from './command.ts'
import { table } from './table.ts'

const keyName = 'HEADGATE_ADMIN_KEY'

export const apply: Command = {
  usage: `Usage: headgate apply -f FILE [--plan] [--prune] [--secrets FILE] [--url URL] [-c FILE] [--json]

Creates and updates projects with their members, users, and keys with their limits and budgets from a file,
through the admin API. Entries are matched by name, users by email. A field that the file leaves out stays
as it is, a field listed under unset is removed, and limits are replaced as a whole. The plan is printed
first, and nothing is changed if the file has a problem. Applying the same file again changes nothing.
The file:

  projects: [{name, models, stages, limits, unset: [FIELD, …], members: [EMAIL, …]}]
  users:    [{email, role, limits, unset}]  those who do not exist yet are invited
  keys:     [{name, project, endpoints, models, mcp_servers, limits, expires_at, unset, …}]

The key of the admin API is read from ${keyName}.

  -f, --file FILE     YAML or JSON
  --plan              print the plan, and change nothing
  --prune             revoke keys, archive projects and remove members that the file does not list, in the
                      sections and lists that it has; users stay
  --secrets FILE      write new keys and invitation links to a new file, readable by you alone, as JSON
                      Lines; without it they are printed once
  --url URL           address of the gateway; default: the one that runs here
  -c, --config FILE   configuration of the gateway that runs here
  --json

Exit codes: 0 success, 1 failure, 2 wrong usage, 3 with --plan when something differs.`,

  run: async (args, terminal) => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        file: { type: 'string', short: 'f' },
        plan: { type: 'boolean', default: false },
        prune: { type: 'boolean', default: false },
        secrets: { type: 'string' },
        url: { type: 'string' },
        config: { type: 'string', short: 'c' },
        json: { type: 'boolean', default: false }
      }
    })
    if (values.file === undefined) throw new CommandError('-f FILE is missing.', { exitCode: 2 })
    const file = readOrganisationFile(readText(values.file, terminal), values.file)
    const { url, key } = addressOf(values.url, values.config, terminal)
    const client = new AdminClient(url, key)
    try {
      const state = await readGatewayState(client, file)
      const plan = planChanges(file, state)
      if (plan.problems.length > 0) throw new CommandError(plan.problems.join('\n'))
      const steps = values.prune ? [...plan.steps, ...plan.unlisted] : plan.steps
      if (!values.json) printPlan(plan, steps, values.prune, terminal)
      if (values.plan) {
        if (values.json) printJson(plan, steps, { applied: 0, shown: [] }, terminal)
        return steps.length > 0 ? 3 : 0
      }
      const projects = new Map([...state.projects].map(([name, { id }]) => [name, id]))
      const shown: ShownOnce[] = []
      const keep = secretKeeper(values.secrets, values.json ? shown : undefined, steps, terminal)
      let applied = 0
      try {
        for (const step of steps) {
          keep(await step.run(client, projects))
          applied++
        }
      } catch (error) {
        throw interrupted(error, steps, applied)
      } finally {
        if (values.json) printJson(plan, steps, { applied, shown }, terminal)
      }
      return 0
    } catch (error) {
      if (error instanceof AdminApiError) throw new CommandError(error.message, { cause: error })
      throw error
    }
  }
}

function readText (file: string, { cwd }: Terminal): string {
  try {
    return readTextFile(resolve(cwd, file))
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${errorCode(error)}.`, { cause: error })
  }
}

/** With `--url` no configuration is read: the gateway runs elsewhere. */
function addressOf (given: string | undefined, config: string | undefined, terminal: Terminal) {
  const settings = given === undefined ? loadSettings({ ...terminal, file: config }) : undefined
  const key = settings === undefined ? terminal.env[keyName] : settings.adminKey?.reveal()
  if (key === undefined || key === '') {
    throw new CommandError(
      `${keyName} is not set. "headgate admin-keys create --name NAME" makes a key of the admin API.`
    )
  }
  const url = given ?? (settings && runningAt(settings.server.dataDir))
  if (url === undefined) throw new CommandError('no gateway runs here: name one by --url URL.')
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new CommandError('--url must start with http:// or https://.', { exitCode: 2 })
  }
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:' && !isLoopback(hostname)) {
    terminal.error(`warning: the key of the admin API travels in cleartext to ${hostname}.`)
  }
  return { url: withoutTrailingSlashes(url).replace(/\/v1$/, ''), key }
}

/** Adds to an error which step failed, and how many had succeeded. */
function interrupted (error: unknown, steps: readonly Step[], applied: number): unknown {
  const step = steps[applied]
  if (!(error instanceof AdminApiError) || step === undefined) return error
  return new CommandError(
    `${step.action} ${step.kind} ${printable(step.name)}: ${error.message}\n` +
      `${applied} of ${steps.length} changes were made. Apply the file again.`,
    { cause: error }
  )
}

/**
 * Returns a function that keeps what a step shows only once: in a file that others cannot read, in a list, or
 * on the terminal. It does so immediately, so that a later failure loses nothing.
 *
 * @throws CommandError before anything is created, for a file that exists or cannot be written
 */
function secretKeeper (
  file: string | undefined,
  list: ShownOnce[] | undefined,
  steps: readonly Step[],
  { cwd, out }: Terminal
): (shown: ShownOnce | undefined) => void {
  const path = file === undefined ? undefined : resolve(cwd, file)
  if (path !== undefined && steps.some(showsSecret)) createFile(path, file)
  return shown => {
    if (shown === undefined) return
    if (path !== undefined) appendTo(path, shown, out)
    else if (list !== undefined) list.push(shown)
    else out(`${shown.kind} ${printable(shown.name)}: ${shown.secret} (shown once)`)
  }
}

/** @throws CommandError when the disk is full; the text is printed, since it is shown only once */
function appendTo (path: string, shown: ShownOnce, out: Terminal['out']): void {
  try {
    appendFileSync(path, `${JSON.stringify(shown)}\n`)
  } catch (error) {
    out(`${shown.kind} ${printable(shown.name)}: ${shown.secret} (shown once)`)
    throw new CommandError(`${path} cannot be written: ${errorCode(error)}. Apply the file again.`, {
      cause: error
    })
  }
}

function showsSecret ({ action, kind }: Step): boolean {
  return action === 'invite' || action === 'create' && kind === 'key'
}

function createFile (path: string, shown: string | undefined): void {
  try {
    writeFileSync(path, '', { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const code = errorCode(error)
    const reason = code === 'EEXIST' ? 'exists: name a new file' : `cannot be written: ${code}`
    throw new CommandError(`--secrets: ${shown} ${reason}.`, { cause: error })
  }
}

function printPlan (plan: ChangePlan, steps: readonly Step[], prune: boolean, { out }: Terminal): void {
  if (steps.length > 0) {
    out(table(steps.map(({ action, kind, name, fields }) => (
      [action, kind, name, fields.map(printField).join(', ')]
    ))))
  }
  for (const sentence of plan.waiting) out(printable(sentence))
  if (!prune && plan.unlisted.length > 0) {
    out(`Not in the file, which --prune would delete:\n${table(plan.unlisted.map(({ action, kind, name }) => (
      [`  ${action}`, kind, name]
    )))}`)
  }
  out(steps.length === 0 ? 'Nothing differs from the file.' : `${steps.length} changes.`)
}

function printField ({ field, before, after }: FieldChange): string {
  const values = before === undefined ? [after] : [before, after]
  return `${field}: ${values.map(value => JSON.stringify(value)).join(' → ')}`
}

interface Outcome {
  readonly applied: number
  readonly shown: readonly ShownOnce[]
}

function printJson (
  { unlisted, waiting }: ChangePlan, steps: readonly Step[], { applied, shown }: Outcome, { out }: Terminal
): void {
  const plain = ({ action, kind, name, fields }: Step): object => ({ action, kind, name, fields })
  out(JSON.stringify({
    steps: steps.map(plain), applied, secrets: shown, unlisted: unlisted.map(plain), waiting
  }, null, 2))
}
