/** The answer to a dry run: the models that a call would try, in order, with reasons. */

import { Type, type Static } from 'typebox'
import { CooldownOrigin } from './health.ts'
import { guardPoints } from './config/guards.ts'
import { OneOf } from './nullable.ts'

export const RouteCandidate = Type.Object({
  rank: Type.Integer({ minimum: 1, description: 'Place in the order: 1 is tried first.' }),
  model: Type.String({ description: 'Its id.' }),
  provider: Type.String(),
  score: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Share of the requested attributes that the model has.'
    })
  ),
  terms: Type.Optional(
    Type.Array(
      Type.Object({
        attribute: Type.String(),
        required: Type.Number({ description: 'For `cost`, this is 1 − cost.' }),
        actual: Type.Optional(
          Type.Number({
            description: 'Absent while it is not known; half of what is required is assumed then.'
          })
        ),
        weight: Type.Number(),
        share: Type.Number({ description: 'Its contribution to the score.' })
      }),
      { description: 'The parts of the score.' }
    )
  ),
  expected_cost_usd: Type.Optional(
    Type.Number({
      minimum: 0,
      description:
        'Cost of the estimated prompt and of `max_completion_tokens`, or 1,000 tokens, if its price is known.'
    })
  ),
  state: OneOf(['ready', 'rate_limited', 'circuit_open', 'unsuitable'], {
    description:
      '`rate_limited`: its provider limits requests at the moment. `circuit_open`: it has failed too often. Both ' +
      'are tried after all others. `unsuitable`: it is not tried, because it ' +
      'does not serve this endpoint or for the reason given.'
  }),
  origin: Type.Optional(CooldownOrigin),
  credentials: Type.Optional(
    Type.Object(
      {
        ready: Type.Integer({ minimum: 0, description: 'Those that are not cooling down.' }),
        total: Type.Integer({ minimum: 2 })
      },
      { description: 'Keys of the gateway at the provider, where it has several.' }
    )
  ),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'End of the cooldown, if known.' })),
  reason: Type.String({
    description: 'The reason for its rank, or for not being tried, as in `x-headgate-route`.'
  })
})
export type RouteCandidate = Static<typeof RouteCandidate>

export const RouteDecision = Type.Object(
  {
    object: Type.Literal('route.decision'),
    requested: Type.String({ description: 'The requested models.' }),
    candidates: Type.Array(RouteCandidate, { description: 'In the order in which they would be tried.' }),
    stages: Type.Optional(
      Type.Array(
        Type.Object({ name: Type.String(), use: Type.String(), at: Type.Array(OneOf([...guardPoints])) }),
        {
          description:
            'The guards of the configuration that would inspect it, in their order. Absent where the configuration has none.'
        }
      )
    )
  },
  { description: 'The answer to a dry run. It holds for this moment and the process that gave it.' }
)
export type RouteDecision = Static<typeof RouteDecision>
