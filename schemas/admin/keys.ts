/** Keys of callers, and admin keys. */

import { Type, type Static } from 'typebox'
import { PartyLimitsConfig } from '../config/keys.ts'
import { OneOf } from '../nullable.ts'
import { Change, Id, Milliseconds, Name, OrNull, Request, Role, Scope } from './common.ts'

const Endpoints = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
  maxItems: 50,
  description: 'Endpoints: `chat`, `embeddings`, …'
})
const Models = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
  maxItems: 500,
  description: 'Model ids, or patterns such as `openai/*`.'
})
const ToolServers = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
  maxItems: 500,
  description: 'Tool servers, `org/name`; `*` for all.'
})

const Stages = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
  maxItems: 64,
  description: 'Names of guards of the configuration that inspect all of its calls.'
})

export const Key = Type.Object({
  id: Id,
  name: Type.String(),
  project_id: Id,
  source: OneOf(['store', 'configuration'], { description: 'Keys of the configuration are changed there.' }),
  status: OneOf(['active', 'expired', 'revoked']),
  hint: OrNull(
    Type.String(),
    'Its first and last characters: `hg_ab…xyz`. `null` for keys of earlier versions and of the ' +
    'configuration.'
  ),
  endpoints: OrNull(Endpoints, '`null`: all.'),
  models: OrNull(Models, '`null`: all.'),
  mcp_servers: OrNull(ToolServers, '`null`: all.'),
  mcp_urls: Type.Boolean({ description: 'True: its calls may name tool servers by URL.' }),
  provider_objects: Type.Boolean({
    description: "True: it may use files, containers and threads in the gateway's accounts at providers."
  }),
  stages: OrNull(Stages, '`null`: only the guards of its project and those that apply to all calls.'),
  limits: OrNull(PartyLimitsConfig, '`null`: those of `limits.default_key_limits`.'),
  set_by_admin: Type.Array(
    OneOf(['endpoints', 'models', 'mcp_servers', 'mcp_urls', 'stages', 'limits', 'expires_at_ms']),
    {
      description: 'Fields that an admin has set: members may not change them.'
    }
  ),
  spent_usd: Type.Number({
    description: 'In the current period of its first budget; without one, this month.'
  }),
  exhausted: Type.Boolean({ description: 'True when one of its budgets is used up.' }),
  created_by: OrNull(Type.String(), 'Name of the user.'),
  owner_id: OrNull(Id, 'The user who owns it, whose limits hold for it as well; `null`: nobody.'),
  created_at_ms: OrNull(Milliseconds),
  expires_at_ms: OrNull(Milliseconds),
  revoked_at_ms: OrNull(Milliseconds),
  last_used_at_ms: OrNull(Milliseconds)
})
export type Key = Static<typeof Key>

const scope = {
  endpoints: Endpoints,
  models: Models,
  mcp_servers: ToolServers,
  mcp_urls: Type.Boolean(),
  provider_objects: Type.Boolean(),
  stages: Stages,
  limits: PartyLimitsConfig,
  expires_at_ms: Milliseconds
}

export const NewKey = Request({
  name: Name,
  project_id: Type.Optional(Type.Union([Id], { description: 'Default: `default`.' })),
  owner_id: Type.Optional(Type.Union([Id], {
    description: 'The user who owns it. Only admins give a key to someone else. Default: who makes it.'
  })),
  ...Type.Partial(Type.Object(scope)).properties
})
export type NewKey = Static<typeof NewKey>

/** The text of the key is in this answer and nowhere else. */
export const CreatedKey = Type.Object({ key: Key, secret: Type.String({ description: 'Shown once.' }) })
export type CreatedKey = Static<typeof CreatedKey>

export const KeyChange = Request({
  name: Type.Optional(Name),
  owner_id: Change(Id),
  endpoints: Change(Endpoints),
  models: Change(Models),
  mcp_servers: Change(ToolServers),
  mcp_urls: Change(Type.Boolean()),
  provider_objects: Type.Optional(Type.Boolean()),
  stages: Change(Stages),
  limits: Change(PartyLimitsConfig),
  expires_at_ms: Change(Milliseconds)
})
export type KeyChange = Static<typeof KeyChange>

/** A new text for the key, which keeps its id, its limits and its spending. */
export const KeyRotation = Request({
  overlap_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 30 * 86_400_000,
      default: 0,
      description: 'Time for which the old secret still works.'
    })
  )
})
export type KeyRotation = Static<typeof KeyRotation>

/** A key of the playground: for calls that the page makes itself. */
export const PlaygroundKeyRequest = Request({ project_id: Id })
export type PlaygroundKeyRequest = Static<typeof PlaygroundKeyRequest>
export const PlaygroundKey = Type.Object({ key_id: Id, secret: Type.String(), expires_at_ms: Milliseconds })
export type PlaygroundKey = Static<typeof PlaygroundKey>

/** An admin key. It acts with a role, within its scopes. */
export const AdminKey = Type.Object({
  id: Id,
  name: Type.String(),
  role: Role,
  scopes: OrNull(Type.Array(Scope), '`null`: all that the role may do.'),
  created_by: OrNull(Type.String()),
  created_at_ms: Milliseconds,
  expires_at_ms: OrNull(Milliseconds),
  last_used_at_ms: OrNull(Milliseconds)
})
export type AdminKey = Static<typeof AdminKey>

export const NewAdminKey = Request({
  name: Name,
  role: Type.Optional(Role),
  scopes: Type.Optional(Type.Array(Scope, { minItems: 1, maxItems: 32 })),
  expires_at_ms: Type.Optional(
    Type.Union([Milliseconds], {
      description: 'Default: never. A key that an admin key makes ends with that one at the latest.'
    })
  )
})
export type NewAdminKey = Static<typeof NewAdminKey>

export const CreatedAdminKey = Type.Object({
  key: AdminKey,
  secret: Type.String({ description: 'Shown once.' })
})
export type CreatedAdminKey = Static<typeof CreatedAdminKey>
