/**
 * The file of `headgate apply`: projects, users and keys by name, with the fields of the admin API. An absent
 * field stays as it is; `unset` removes fields. An empty value counts as absent, so that it removes no limit
 * by mistake.
 */

import { Type, type Static } from 'typebox'
import { Email, Name, Request, Role } from './common.ts'
import { PartyLimitsConfig } from '../config/keys.ts'
import { KeyChange, NewKey } from './keys.ts'
import { NewProject, ProjectChange } from './organisation.ts'
import { OneOf } from '../nullable.ts'

const { name: _projectName, ...projectFields } = NewProject.properties
const {
  name: _keyName, project_id: _projectId, owner_id: _ownerId, expires_at_ms: _expiry, ...keyFields
} = NewKey.properties

const { name: _changedName, ...projectRemovals } = ProjectChange.properties
const {
  name: _changedKey,
  owner_id: _owner,
  provider_objects: _objects,
  expires_at_ms: _changedExpiry,
  ...keyRemovals
} = KeyChange.properties

/** @param fields that a change may set to `null` */
function Unset (fields: string[]) {
  return Type.Optional(Type.Array(OneOf(fields), {
    maxItems: fields.length, description: 'Fields to remove, which then have their default.'
  }))
}

export const FileProject = Request({
  name: Name,
  ...projectFields,
  unset: Unset(Object.keys(projectRemovals)),
  members: Type.Optional(Type.Array(Email, {
    maxItems: 1_000,
    description: 'Emails of its members, who are users of the gateway or in `users`.'
  }))
})
export type FileProject = Static<typeof FileProject>

/** An unknown user is invited. */
export const FileUser = Request({
  email: Email,
  role: Role,
  limits: Type.Optional(PartyLimitsConfig),
  unset: Unset(['limits'])
})
export type FileUser = Static<typeof FileUser>

export const FileKey = Request({
  name: Name,
  project: Type.Optional(Type.Union([Name], { description: 'The name of its project. Default: `Default`.' })),
  owner: Type.Optional(Type.Union([Email], {
    description: 'The email of the user who owns it. Default: as it is.'
  })),
  ...keyFields,
  expires_at: Type.Optional(Type.String({
    description: 'A day (2030-12-31) or a time (2030-12-31T18:00:00Z).'
  })),
  unset: Unset([...Object.keys(keyRemovals), 'expires_at'])
})
export type FileKey = Static<typeof FileKey>

export const OrganisationFile = Request({
  projects: Type.Optional(Type.Array(FileProject, { maxItems: 1_000 })),
  users: Type.Optional(Type.Array(FileUser, { maxItems: 10_000 })),
  keys: Type.Optional(Type.Array(FileKey, { maxItems: 10_000 }))
})
export type OrganisationFile = Static<typeof OrganisationFile>
