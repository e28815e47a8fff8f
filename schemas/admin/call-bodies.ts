/** The request and the answer of a call, as they were kept. */

import { Type, type Static } from 'typebox'
import { Milliseconds, OrNull, Role } from './common.ts'

export const CallBody = Type.Object({
  media_type: OrNull(Type.String(), 'As it was received or sent, without parameters.'),
  size_bytes: Type.Integer({ description: 'As it was received or sent.' }),
  text: OrNull(
    Type.String(),
    'Of an event stream the complete answer, or its events with their deltas joined; of a form its fields and the names of its files. `null` for media.'
  ),
  truncated: Type.Boolean({
    description: 'True when `text` is not all of it, apart from media that are left out.'
  }),
  redacted: Type.Boolean({ description: 'True when something in `text` was replaced by `[redacted]`.' })
})
export type CallBody = Static<typeof CallBody>

export const CallBodies = Type.Object({
  id: Type.String({ description: 'Of the usage record.' }),
  request_id: Type.String(),
  readable_by: Role,
  expires_at_ms: Milliseconds,
  request: OrNull(CallBody, '`null` for a call without a body.'),
  answer: OrNull(CallBody, '`null` for a call without one.')
})
export type CallBodies = Static<typeof CallBodies>
