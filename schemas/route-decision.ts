/** The answer to a dry run: the models a call would ask, in order, and why. */

import { Type, type Static } from 'typebox'
import { OneOf } from './nullable.ts'

export const RouteCandidate = Type.Object({
  rank: Type.Integer({ minimum: 1, description: 'Place in the order: 1 is asked first.' }),
  model: Type.String({ description: 'Its id.' }),
  provider: Type.String(),
  score: Type.Optional(Type.Number({
    minimum: 0, maximum: 1, description: 'Share of the requested attributes that the model has.'
  })),
  state: OneOf(['ready', 'rate_limited', 'circuit_open', 'unsuitable'], {
    description: '`rate_limited`: its provider asked for a pause. `circuit_open`: it has failed too often. Both ' +
      'are asked after all others. `unsuitable`: it is not asked, because it ' +
      'does not serve this endpoint or for the reason given.'
  }),
  credentials: Type.Optional(Type.Object({
    ready: Type.Integer({ minimum: 0, description: 'Those that are not cooling down.' }), total: Type.Integer({ minimum: 2 })
  }, { description: 'Keys of the gateway at the provider, where it has several.' })),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'When that ends, if known.' })),
  reason: Type.String({ description: 'What gave it its place, or why it is not asked, as in `x-headgate-route`.' })
})
export type RouteCandidate = Static<typeof RouteCandidate>

export const RouteDecision = Type.Object({
  object: Type.Literal('route.decision'),
  requested: Type.String({ description: 'The requested models.' }),
  candidates: Type.Array(RouteCandidate, { description: 'In the order in which they would be asked.' })
}, { description: 'The answer to a dry run. It holds for this moment and the process that gave it.' })
export type RouteDecision = Static<typeof RouteDecision>
