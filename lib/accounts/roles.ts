/** Compares roles, and describes who uses the admin API. */

import { roleNames, type Role, type Scope } from '../../schemas/admin/common.ts'

/** A user with a session, or an admin key. */
export interface Principal {
  readonly id: string
  readonly name: string
  readonly role: Role
  /** The session; absent for an admin key. */
  readonly session?: PrincipalSession
  /** The only scopes of an admin key; absent: everything its role may do. */
  readonly scopes?: readonly Scope[]
  /** When an admin key expires; absent: never. */
  readonly expiresAtMs?: number
  /** The only projects that it may see; absent: all. */
  readonly projects?: ReadonlySet<string>
}

export interface PrincipalSession {
  readonly id: string
  readonly csrfDigest: string
  readonly expiresAtMs: number
  /** True if it began with a one-time link. */
  readonly byLink: boolean
}

/** Returns whether a role includes the rights of another one. */
export function isAtLeast (role: Role, least: Role): boolean {
  return roleNames.indexOf(role) <= roleNames.indexOf(least)
}

/** Returns whether a role sees every project. */
export function seesAllProjects (role: Role): boolean {
  return isAtLeast(role, 'admin')
}

/** Returns whether a principal sees a project. */
export function maySee ({ projects }: Principal, projectId: string): boolean {
  return projects === undefined || projects.has(projectId)
}
