/** Configured guards: their activity, and what they would do with a text. */

import { Type, type Static } from 'typebox'
import { guardPoints } from '../config/guards.ts'
import { OneOf } from '../nullable.ts'
import { OrNull, Request } from './common.ts'

export const GuardSummary = Type.Object({
  name: Type.String(),
  use: Type.String({ description: 'Its kind, as in the configuration.' }),
  at: Type.Array(OneOf([...guardPoints])),
  action: OrNull(Type.String(), 'What becomes of a finding; `null`: as its kind does by default.'),
  when: OneOf(['always', 'asked'], {
    description: '`asked`: it inspects calls whose key, project or request names it.'
  }),
  only: OrNull(
    Type.Unsafe<Record<string, readonly string[]>>({ type: 'object' }),
    'The calls that it inspects; `null`: all. Keys and projects are left out for members and viewers.'
  ),
  last_day: Type.Object(
    {
      calls: Type.Integer({ description: 'Calls that it inspected.' }),
      calls_with_findings: Type.Integer(),
      findings: Type.Integer(),
      unavailable: Type.Integer({ description: 'Inspections that failed.' }),
      took_ms: OrNull(
        Type.Object({ p50: Type.Number(), p95: Type.Number() }),
        'Milliseconds that it took in a call.'
      )
    },
    { description: 'Of the last 10,000 calls that guards inspected, within a day.' }
  )
})
export type GuardSummary = Static<typeof GuardSummary>

export const GuardList = Type.Object({ object: Type.Literal('list'), data: Type.Array(GuardSummary) })
export type GuardList = Static<typeof GuardList>

/** The points at which a text can be tried. */
const triedPoints = ['request', 'answer'] as const

export const GuardTrial = Request({
  text: Type.String({ minLength: 1, maxLength: 20_000 }),
  point: OneOf([...triedPoints], { description: 'The point at which it is inspected.' })
})
export type GuardTrial = Static<typeof GuardTrial>

export const GuardTrialResult = Type.Object({
  text: OrNull(Type.String(), 'What is left of it; `null`: it was refused.'),
  refusal: OrNull(Type.String(), 'What a caller would read.'),
  duration_ms: Type.Number(),
  findings: Type.Array(
    Type.Object({ stage: Type.String(), action: Type.String(), count: Type.Integer() })
  )
})
export type GuardTrialResult = Static<typeof GuardTrialResult>
