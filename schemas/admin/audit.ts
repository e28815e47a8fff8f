/** The audit log: every administrative act. */

import { Type, type Static } from 'typebox'
import { Id, Milliseconds, OrNull, Page, pageQuery, type QueryParameter } from './common.ts'

const State = Type.Unsafe<Record<string, unknown> | null>({
  type: ['object', 'null'],
  description: 'Fields of the subject that changed, without secrets.'
})

export const AuditEntry = Type.Object({
  id: Id,
  at_ms: Milliseconds,
  actor: Type.String({ description: 'Name of the user or admin key; `command line` or `gateway`.' }),
  actor_id: OrNull(Type.String()),
  action: Type.String({ description: '`key.create`, `user.update`, `session.sign_in`, …' }),
  subject: OrNull(Type.String(), 'Id of what it was done to.'),
  subject_name: OrNull(Type.String()),
  address: OrNull(Type.String()),
  before: State,
  after: State
})
export type AuditEntry = Static<typeof AuditEntry>

export const AuditPage = Page(AuditEntry)
export type AuditPage = Static<typeof AuditPage>

export const auditQuery = {
  action: { description: 'Only these actions, or parts of their names: `key`.', type: 'string' },
  actor: { description: 'Only acts of this user or admin key, by id.', type: 'string' },
  subject: { description: 'Only acts on this, by id.', type: 'string' },
  ...pageQuery
} as const satisfies Record<string, QueryParameter>
