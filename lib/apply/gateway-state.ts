/** The entries of a gateway that a file is about. */

import { normalEmail } from '../accounts/users.ts'
import type { GuardList } from '../../schemas/admin/guards.ts'
import type { Key } from '../../schemas/admin/keys.ts'
import type { Invitation, Member, Project, User } from '../../schemas/admin/organisation.ts'
import type { OrganisationFile } from '../../schemas/admin/organisation-file.ts'
import type { AdminClient } from './admin-client.ts'

export interface GatewayState {
  /** By name; without archived ones. */
  readonly projects: ReadonlyMap<string, Project>
  /** Of the projects whose members the file lists, by project id. */
  readonly members: ReadonlyMap<string, readonly Member[]>
  /** By email. */
  readonly users: ReadonlyMap<string, User>
  /** Open ones, by email. */
  readonly invitations: ReadonlyMap<string, Invitation>
  /** By name; without revoked ones. */
  readonly keys: ReadonlyMap<string, Key>
  /** Names of the guards of its configuration; read if the file names any. */
  readonly guards: ReadonlySet<string>
}

/**
 * Reads only what the sections of the file are about: an admin key needs no scope for anything else.
 *
 * @throws AdminApiError
 */
export async function readGatewayState (client: AdminClient, file: OrganisationFile): Promise<GatewayState> {
  const listed = (file.projects ?? []).filter(({ members }) => members !== undefined)
  const withMembers = new Set(listed.map(({ name }) => name))
  const areInProjects = file.keys?.some(({ project }) => project !== undefined) === true
  const needsProjects = file.projects !== undefined || areInProjects
  const needsUsers = file.users !== undefined || withMembers.size > 0
  const projects = needsProjects ? await client.list<Project>('GET /admin/v1/projects') : []
  const members = new Map<string, Member[]>()
  for (const { id, name } of projects) {
    if (!withMembers.has(name)) continue
    const route = 'GET /admin/v1/projects/:project_id/members'
    members.set(id, await client.list<Member>(route, { project_id: id }))
  }
  const users = needsUsers ? await client.list<User>('GET /admin/v1/users') : []
  const namesGuards = [...file.projects ?? [], ...file.keys ?? []].some(({ stages }) => stages?.length)
  const guards = namesGuards ? (await client.send<GuardList>('GET /admin/v1/stages')).data : []
  const invitations = needsUsers ? await client.list<Invitation>('GET /admin/v1/invitations') : []
  return {
    projects: new Map(projects.map(project => [project.name, project])),
    members,
    users: byEmail(users),
    invitations: byEmail(invitations),
    keys: new Map((file.keys === undefined ? [] : await liveKeys(client)).map(key => [key.name, key])),
    guards: new Set(guards.map(({ name }) => name))
  }
}

/** Lists keys that are not revoked; if two have one name, the active one is last. */
async function liveKeys (client: AdminClient): Promise<Key[]> {
  const expired = await client.list<Key>('GET /admin/v1/keys', {}, { status: 'expired' })
  return [...expired, ...await client.list<Key>('GET /admin/v1/keys', {}, { status: 'active' })]
}

function byEmail<T extends { readonly email: string | null }> (all: readonly T[]): Map<string, T> {
  return new Map(all.flatMap(each => each.email === null ? [] : [[normalEmail(each.email), each]]))
}
