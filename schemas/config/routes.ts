/** `routes` of `headgate.yaml`. */

import { Type, type Static } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Closed, hour, Text } from './entries.ts'

export const RouteStrategy = OneOf(['in_order', 'weighted', 'cheapest', 'fastest', 'balanced'], {
  default: 'in_order',
  description:
    'What is tried first. `in_order`: the first of the list. `weighted`: one drawn by weight. `cheapest`: the one with the lowest price. ' +
    '`fastest`: the one that has recently begun to answer soonest. `balanced`: the one with the least work for its speed. The others follow when it fails.'
})
export type RouteStrategy = Static<typeof RouteStrategy>

const WeightedModel = Closed({
  model: Text('A model id, an alias or another route.'),
  weight: Type.Number({
    minimum: 0,
    maximum: 1_000_000,
    default: 1,
    description:
      'Its share of the calls, or with `affinity` of the sessions, where the strategy is `weighted`; ' +
      '0: only when the others fail.'
  }),
  settings: Type.Optional(Type.Record(Type.String(), Type.Unknown(), {
    description: 'Defaults for fields of a chat request to this model: `temperature`, `reasoning_effort`, …'
  }))
})
type WeightedModel = Static<typeof WeightedModel>

export const RouteMapConfig = Closed({
  models: Type.Array(
    Type.Unsafe<string | WeightedModel>({
      ...WeightedModel,
      type: ['string', 'object'],
      minLength: 1,
      description: 'A model, or a map of one with its weight and settings.'
    }),
    {
      minItems: 1,
      description: 'Models, aliases or routes, or maps of one with its weight and settings.'
    }
  ),
  strategy: RouteStrategy,
  affinity: Type.Optional(
    Type.Boolean({
      description:
        'Keep the calls of a session with the model, and its account, that has their prompt in its cache, where the strategy is `weighted`, `fastest` or `balanced`. Default: where a model of the route has a lower price for cached input.'
    })
  ),
  mirror: Type.Optional(
    Closed(
      {
        model: Text('The model that they are sent to.'),
        share: Type.Number({ minimum: 0, maximum: 1, description: 'Share of the calls, from 0 to 1.' }),
        max_in_flight: Type.Integer({
          minimum: 1,
          maximum: 1000,
          default: 8,
          description: 'Maximum number of concurrent mirrored calls, per process; calls beyond it are not mirrored.'
        })
      },
      {
        description:
          'Sends a share of the calls to another model as well, once they have been answered: to compare cost, speed and errors. ' +
          'Nobody gets its answers, and no budget of a caller counts them. Default: none.'
      }
    )
  ),
  hedge_after_ms: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: hour,
      description:
        'Start the next model as well when the first has not begun to answer after this time; the first answer is used, ' +
        'the other request aborted. For one call in 20 on average, at most. Default: never.'
    })
  )
})
export type RouteMapConfig = Static<typeof RouteMapConfig>

/** Not a union, which would report one error per member for a single mistake. */
export const RouteConfig = Type.Unsafe<string[] | RouteMapConfig>({
  ...RouteMapConfig,
  type: ['array', 'object'],
  items: Text('A model id, an alias or another route.'),
  minItems: 1,
  description: 'A list of models, aliases or routes, or a map of `models` with a `strategy`.'
})
export type RouteConfig = Static<typeof RouteConfig>
