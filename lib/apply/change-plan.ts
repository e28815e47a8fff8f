/**
 * The difference between a file and a gateway, as steps in a feasible order: projects, then people, then
 * keys; deletions come last.
 */

import { isDeepStrictEqual } from 'node:util'
import { normalEmail } from '../accounts/users.ts'
import { defaultProject } from '../core/key.ts'
import { parseIsoDate } from '../core/parse-iso-date.ts'
import { fromPartyLimits, toPartyLimits } from '../keys/party-limits.ts'
import { mayNameUrls } from '../mcp/tool-scope.ts'
import type { CreatedKey, Key, KeyChange, NewKey } from '../../schemas/admin/keys.ts'
import type { CreatedInvitation, NewProject, Project } from '../../schemas/admin/organisation.ts'
import type {
  FileKey, FileProject, FileUser, OrganisationFile
} from '../../schemas/admin/organisation-file.ts'
import type { AdminClient } from './admin-client.ts'
import type { GatewayState } from './gateway-state.ts'

/** Ids of projects by name; those that a step creates are added. */
export type ProjectIds = Map<string, string>

/** Shown once by the gateway: the text of a key, or the link of an invitation. */
export interface ShownOnce {
  readonly kind: 'key' | 'invitation'
  readonly name: string
  readonly secret: string
}

export interface FieldChange {
  readonly field: string
  /** Absent if the entry is created. */
  readonly before?: unknown
  readonly after: unknown
}

export interface Step {
  readonly action: 'create' | 'change' | 'invite' | 'add' | 'revoke' | 'archive' | 'remove'
  readonly kind: 'project' | 'user' | 'member' | 'key'
  readonly name: string
  readonly fields: readonly FieldChange[]
  readonly run: (client: AdminClient, projects: ProjectIds) => Promise<ShownOnce | undefined>
}

export interface ChangePlan {
  readonly steps: readonly Step[]
  /** Entries that the gateway has and the file lacks: deleted with `prune` only. */
  readonly unlisted: readonly Step[]
  /** What waits for someone else, in sentences. */
  readonly waiting: readonly string[]
  /** Why the file cannot be applied. Nothing is applied while there is a reason. */
  readonly problems: readonly string[]
}

/** Compares a file with a gateway. */
export function planChanges (file: OrganisationFile, state: GatewayState): ChangePlan {
  const problems = guardProblems(file, state)
  const waiting: string[] = []
  const projects = file.projects ?? []
  return {
    steps: [
      ...projects.flatMap(project => projectSteps(project, state)),
      ...(file.users ?? []).flatMap(user => userSteps(user, projects, state, waiting)),
      ...projects.flatMap(project => memberSteps(project, file.users ?? [], state, { problems, waiting })),
      ...(file.keys ?? []).flatMap(key => keySteps(key, projects, state, problems))
    ],
    unlisted: [
      ...unlistedKeys(file, state),
      ...unlistedMembers(file, state),
      ...unlistedProjects(file, state)
    ],
    waiting,
    problems
  }
}

/** Names the guards of the file that the gateway would refuse. */
function guardProblems ({ projects = [], keys = [] }: OrganisationFile, { guards }: GatewayState): string[] {
  return [['projects', projects] as const, ['keys', keys] as const].flatMap(([section, entries]) =>
    entries.flatMap(({ name, stages }) => (stages ?? []).filter(guard => !guards.has(guard)).map(guard =>
      `${section}: ${name} has the guard ${guard}, which the configuration of the gateway lacks. Add it to stages there.`
    )))
}

function projectSteps (wanted: FileProject, { projects }: GatewayState): Step[] {
  const { name, members: _members, unset, ...given } = wanted
  const before = projects.get(name)
  const settings = { ...given, ...canonical(wanted) }
  if (before === undefined) {
    const body: NewProject = { name, ...settings }
    return [{
      action: 'create', kind: 'project', name, fields: created(settings),
      run: async (client, ids) => {
        ids.set(name, (await client.send<Project>('POST /admin/v1/projects', {}, body)).id)
        return undefined
      }
    }]
  }
  const fields = differences(before, { ...settings, ...removed(unset) })
  return change('project', name, fields, async (client, fields) => {
    await client.send('POST /admin/v1/projects/:project_id', { project_id: before.id }, fields)
  })
}

function userSteps (
  wanted: FileUser, projects: readonly FileProject[], state: GatewayState, waiting: string[]
): Step[] {
  const { email, role, unset } = wanted
  const address = normalEmail(email)
  const user = state.users.get(address)
  const open = state.invitations.get(address)
  if (user !== undefined) {
    return change(
      'user',
      address,
      differences(user, { role, ...canonical(wanted), ...removed(unset) }),
      async (client, fields) => {
        await client.send('POST /admin/v1/users/:user_id', { user_id: user.id }, fields)
      }
    )
  }
  if (open !== undefined) {
    const other = open.role === role ? '' : ` as ${open.role}: delete the invitation to invite as ${role}`
    waiting.push(`${address} is invited${other}.`)
    return []
  }
  if (wanted.limits !== undefined) {
    waiting.push(
      `The limits of ${address} can be set once the invitation is accepted: apply the file again then.`
    )
  }
  const memberOf = projects.filter(({ members = [] }) => members.map(normalEmail).includes(address))
  return [{
    action: 'invite', kind: 'user', name: address, fields: [{ field: 'role', after: role }],
    run: async (client, ids) => {
      const joined = memberOf.map(({ name }) => idOf(name, ids))
      const invitation = { email: address, role, projects: joined }
      const { url } = await client.send<CreatedInvitation>('POST /admin/v1/invitations', {}, invitation)
      return { kind: 'invitation', name: address, secret: url }
    }
  }]
}

interface Notes {
  readonly problems: string[]
  readonly waiting: string[]
}

function memberSteps (
  { name, members = [] }: FileProject,
  invited: readonly FileUser[],
  state: GatewayState,
  { problems, waiting }: Notes
): Step[] {
  const project = state.projects.get(name)
  const present = new Set((project && state.members.get(project.id))?.map(({ user_id: id }) => id))
  const emails = new Set(invited.map(({ email }) => normalEmail(email)))
  return [...new Set(members.map(normalEmail))].flatMap((email): Step[] => {
    const user = state.users.get(email)
    const open = state.invitations.get(email)
    if (user !== undefined) {
      if (present.has(user.id)) return []
      return [{
        action: 'add', kind: 'member', name: `${email} of ${name}`, fields: [],
        run: async (client, ids) => {
          const path = { project_id: idOf(name, ids) }
          await client.send('POST /admin/v1/projects/:project_id/members', path, { user_id: user.id })
          return undefined
        }
      }]
    }
    if (open !== undefined) {
      const joins = project !== undefined && open.projects.includes(project.id)
      const sentence = `${email} can join ${name} once the invitation is accepted: apply the file again then.`
      if (!joins) waiting.push(sentence)
    } else if (!emails.has(email)) {
      const missing = `no user has the email ${email}, a member of ${name}`
      problems.push(`projects: ${missing}. List it in users to invite it.`)
    }
    return []
  })
}

function keySteps (
  wanted: FileKey,
  listed: readonly FileProject[],
  { keys, projects, users }: GatewayState,
  problems: string[]
): Step[] {
  const { name, project, owner, expires_at: _expires, unset, ...rest } = wanted
  const before = keys.get(name)
  const known = project === undefined || projects.has(project) || listed.some(each => each.name === project)
  if (!known) {
    const wanted = `${name} is in the project ${project}`
    problems.push(`keys: ${wanted}, which does not exist. List it in projects.`)
    return []
  }
  const user = owner === undefined ? undefined : users.get(normalEmail(owner))
  if (owner !== undefined && user === undefined) {
    problems.push(`keys: ${name} should belong to ${owner}, but no user has this email.`)
    return []
  }
  const settings = {
    ...rest, ...canonical(wanted), ...expiryOf(wanted), ...user !== undefined && { owner_id: user.id }
  }
  const { expires_at_ms: expiresAtMs = Infinity } = settings
  if (expiresAtMs <= Date.now() && before?.expires_at_ms !== expiresAtMs) {
    problems.push(`keys: ${name} has an \`expires_at\` in the past.`)
    return []
  }
  if (before === undefined) {
    const fields = created({ ...project !== undefined && { project }, ...settings })
    return [{
      action: 'create', kind: 'key', name, fields,
      run: async (client, ids) => {
        const ownership = project === undefined ? {} : { project_id: idOf(project, ids) }
        const body: NewKey = { name, ...settings, ...ownership }
        const { secret } = await client.send<CreatedKey>('POST /admin/v1/keys', {}, body)
        return { kind: 'key', name, secret }
      }
    }]
  }
  if (project !== undefined && projects.get(project)?.id !== before.project_id) {
    const other = `${name} belongs to a project other than ${project}, and keys cannot be moved between projects`
    problems.push(`keys: ${other}. Revoke it, or use another name.`)
    return []
  }
  const changed: KeyChange = { ...settings, ...removed(unset) }
  const fields = differences(before, changed)
    .filter(({ field, after }) => field !== 'mcp_urls' || after !== null || !hasDefaultUrls(before, changed))
  if (fields.length > 0 && before.source === 'configuration') {
    problems.push(`keys: ${name} is defined in the configuration of the gateway. Change it there.`)
    return []
  }
  return change('key', name, fields, async (client, changed: KeyChange) => {
    await client.send('POST /admin/v1/keys/:key_id', { key_id: before.id }, changed)
  })
}

/** Returns true if a key may name tool servers by URL if and only if one without `mcp_urls` may. */
function hasDefaultUrls (before: Key, { mcp_servers: servers = before.mcp_servers }: KeyChange): boolean {
  return before.mcp_urls === mayNameUrls(servers === null ? {} : { mcpServers: servers })
}

function unlistedKeys ({ keys: listed }: OrganisationFile, { keys }: GatewayState): Step[] {
  if (listed === undefined) return []
  const names = new Set(listed.map(({ name }) => name))
  return [...keys.values()].filter(({ name, source }) => source === 'store' && !names.has(name)).map(key => ({
    action: 'revoke', kind: 'key', name: key.name, fields: [],
    run: async client => {
      await client.send('DELETE /admin/v1/keys/:key_id', { key_id: key.id })
      return undefined
    }
  }))
}

function unlistedMembers ({ projects = [] }: OrganisationFile, state: GatewayState): Step[] {
  return projects.flatMap(({ name, members }) => {
    const project = state.projects.get(name)
    if (members === undefined || project === undefined) return []
    const emails = new Set(members.map(normalEmail))
    const present = state.members.get(project.id) ?? []
    const others = present.filter(({ email }) => email === null || !emails.has(normalEmail(email)))
    return others.map((member): Step => ({
      action: 'remove', kind: 'member', name: `${member.email ?? member.name} of ${name}`, fields: [],
      run: async client => {
        const path = { project_id: project.id, user_id: member.user_id }
        await client.send('DELETE /admin/v1/projects/:project_id/members/:user_id', path)
        return undefined
      }
    }))
  })
}

function unlistedProjects ({ projects: listed }: OrganisationFile, { projects }: GatewayState): Step[] {
  if (listed === undefined) return []
  const names = new Set(listed.map(({ name }) => name))
  const others = [...projects.values()].filter(({ id, name }) => id !== defaultProject && !names.has(name))
  return others.map(({ id, name }) => ({
    action: 'archive', kind: 'project', name, fields: [],
    run: async client => {
      await client.send('DELETE /admin/v1/projects/:project_id', { project_id: id })
      return undefined
    }
  }))
}

/** Returns a step for the fields that differ; none if none do. */
function change (
  kind: Step['kind'], name: string, fields: readonly FieldChange[],
  run: (client: AdminClient, changed: Record<string, unknown>) => Promise<void>
): Step[] {
  if (fields.length === 0) return []
  const changed = Object.fromEntries(fields.map(({ field, after }) => [field, after]))
  return [{
    action: 'change', kind, name, fields,
    run: async client => {
      await run(client, changed)
      return undefined
    }
  }]
}

function differences (before: Key | Project | { readonly role: string }, wanted: object): FieldChange[] {
  const present = new Map<string, unknown>(Object.entries(before))
  return Object.entries(wanted)
    .map(([field, after]) => ({ field, before: present.get(field), after: after as unknown }))
    .filter(({ before, after }) => !isDeepStrictEqual(before, after))
}

function created (settings: object): FieldChange[] {
  return Object.entries(settings).map(([field, after]) => ({ field, after: after as unknown }))
}

/** Returns `null` for each field, by its name in the admin API. */
function removed (fields: readonly string[] = []): Record<string, null> {
  return Object.fromEntries(fields.map(field => [field === 'expires_at' ? 'expires_at_ms' : field, null]))
}

/** Returns limits in the form in which the gateway shows them. */
function canonical ({ limits }: Pick<FileKey, 'limits'>): Pick<FileKey, 'limits'> {
  return limits === undefined ? {} : { limits: fromPartyLimits(toPartyLimits(limits)) }
}

function expiryOf ({ expires_at: expires }: FileKey): Pick<NewKey, 'expires_at_ms'> {
  return expires === undefined ? {} : { expires_at_ms: parseIsoDate(expires) }
}

function idOf (name: string, ids: ProjectIds): string {
  const id = ids.get(name)
  if (id === undefined) throw new Error(`the project ${name} was not created`)
  return id
}
