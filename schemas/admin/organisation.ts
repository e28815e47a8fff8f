/** Users, invitations and projects. */

import { Type, type Static } from 'typebox'
import { PartyLimitsConfig } from '../config/keys.ts'
import { Change, Email, Id, Milliseconds, Name, OrNull, Request, Role } from './common.ts'

export const User = Type.Object({
  id: Id,
  name: Type.String(),
  email: OrNull(Type.String()),
  role: Role,
  disabled: Type.Boolean(),
  has_password: Type.Boolean(),
  passkeys: Type.Integer(),
  projects: Type.Array(Id, {
    description: 'The projects that the user is a member of. Owners and admins see all.'
  }),
  limits: OrNull(PartyLimitsConfig, 'Limits of all keys that the user owns together; `null`: none.'),
  spent_usd: OrNull(
    Type.Number(),
    'With limits: what these keys have spent in the current period of the first budget; without a budget, ' +
    'this month.'
  ),
  exhausted: Type.Boolean({ description: 'True when one of the budgets is used up.' }),
  created_at_ms: Milliseconds,
  last_seen_at_ms: OrNull(Milliseconds)
})
export type User = Static<typeof User>

/** Only owners can create and change owners. The last owner remains one. */
export const UserChange = Request({
  name: Type.Optional(Name),
  email: Type.Optional(Email),
  role: Type.Optional(Role),
  disabled: Type.Optional(Type.Boolean()),
  limits: Change(PartyLimitsConfig)
})
export type UserChange = Static<typeof UserChange>

export const Invitation = Type.Object({
  id: Id,
  email: OrNull(Type.String()),
  role: Role,
  projects: Type.Array(Id),
  invited_by: Type.String({ description: 'Name of the user.' }),
  created_at_ms: Milliseconds,
  expires_at_ms: Milliseconds
})
export type Invitation = Static<typeof Invitation>

export const NewInvitation = Request({
  role: Role,
  email: Type.Optional(
    Type.Union([Email], { description: 'Only this address may accept it. Default: the link is enough.' })
  ),
  projects: Type.Optional(Type.Array(Id, { maxItems: 100 }))
})
export type NewInvitation = Static<typeof NewInvitation>

export const CreatedInvitation = Type.Object({
  invitation: Invitation, url: Type.String({ description: 'Shown once: send it to the person.' })
})
export type CreatedInvitation = Static<typeof CreatedInvitation>

const Models = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
  maxItems: 500,
  description: 'Model ids, or patterns such as `openai/*`.'
})

const Stages = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
  maxItems: 64,
  description: 'Names of guards of the configuration that inspect all calls of its keys.'
})

export const Project = Type.Object({
  id: Id,
  name: Type.String(),
  models: OrNull(Models, 'The only models that its keys may use; `null`: all.'),
  stages: OrNull(Stages, '`null`: only the guards that apply to all calls.'),
  limits: OrNull(PartyLimitsConfig, 'Of all its keys together; `null`: none.'),
  keys: Type.Integer({ description: 'Number of active keys.' }),
  members: Type.Integer(),
  spent_usd: Type.Number({
    description: 'In the current period of its first budget; without one, this month.'
  }),
  exhausted: Type.Boolean({ description: 'True when one of its budgets is used up.' }),
  created_at_ms: OrNull(Milliseconds, '`null` for the project that every store begins with.'),
  archived_at_ms: OrNull(Milliseconds)
})
export type Project = Static<typeof Project>

export const NewProject = Request({
  name: Name,
  models: Type.Optional(Models),
  stages: Type.Optional(Stages),
  limits: Type.Optional(PartyLimitsConfig)
})
export type NewProject = Static<typeof NewProject>

export const ProjectChange = Request({
  name: Type.Optional(Name),
  models: Change(Models),
  stages: Change(Stages),
  limits: Change(PartyLimitsConfig)
})
export type ProjectChange = Static<typeof ProjectChange>

export const Member = Type.Object({
  user_id: Id,
  name: Type.String(),
  email: OrNull(Type.String()),
  role: Role,
  added_at_ms: Milliseconds
})
export type Member = Static<typeof Member>

export const NewMember = Request({ user_id: Id })
export type NewMember = Static<typeof NewMember>
