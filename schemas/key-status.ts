/** The body of `GET /v1/key`: what a key may use, and has used. */

import { Type, type Static } from 'typebox'
import { countedLimitNames } from './config/counted-limits.ts'
import { OrNull } from './admin/common.ts'
import { OneOf } from './nullable.ts'

/** The party whose limits apply to a call. */
export const limitedParties = ['key', 'project', 'member', 'end_user', 'tag', 'model'] as const

/** A limit that applies to the calls of a key. */
export const LimitStatus = Type.Object({
  of: OneOf([...limitedParties], { description: 'Whose limit it is.' }),
  id: Type.String({ description: 'The id or name of that. Of an end user the name that the request gives.' }),
  name: OneOf([...countedLimitNames, 'budget']),
  limit: Type.Number({ description: 'The limit; for a budget, in US dollars.' }),
  remaining: OrNull(
    Type.Number(),
    'What is left now. What calls in progress have reserved is subtracted from limits per minute, but not ' +
    'from budgets and images per day. `null`: not known, as for concurrent calls, or hidden.'
  ),
  resets_at: OrNull(
    Type.Integer(),
    'Unix time in seconds: the end of the window, or when a limit per minute is completely available ' +
    'again. `null`: never, or not known.'
  ),
  soft: Type.Boolean({ description: 'True for a budget that refuses nothing.' }),
  window: OrNull(
    Type.String(),
    'Of a budget: `hour`, `day`, `week`, `month`, `total`, or a length such as `30d`.'
  )
})
export type LimitStatus = Static<typeof LimitStatus>

/** GET /v1/key */
export const KeyStatus = Type.Object({
  object: Type.Literal('key'),
  id: Type.String(),
  name: Type.String(),
  project: Type.Object({ id: Type.String(), name: Type.String() }),
  models: OrNull(Type.Array(Type.String()), 'Ids and patterns; `null`: all.'),
  endpoints: OrNull(Type.Array(Type.String()), 'Names of endpoints; `null`: all.'),
  expires_at: OrNull(Type.Integer(), 'Unix time in seconds; `null`: never.'),
  limits: Type.Array(LimitStatus, {
    description:
      'Those of the key first, then those it shares with others: its project, its owner, its tags, and ' +
      'the end user that a header names.'
  })
})
export type KeyStatus = Static<typeof KeyStatus>
