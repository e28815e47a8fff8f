/** The bodies of the health endpoints. */

import { Type, type Static } from 'typebox'
import { OneOf } from './nullable.ts'

export const CooldownOrigin = OneOf(['this_process', 'another_process'], {
  description:
    'The process that found out that it cools down. Processes share it where `coordination.url` is set.'
})

export const ListedCooldown = Type.Object({
  provider: Type.String(),
  model: Type.Optional(Type.String({ description: 'Its id. Absent where all of the provider cools down.' })),
  reason: OneOf(['rate_limited', 'circuit_open'], {
    description:
      '`rate_limited`: the provider limits requests. `circuit_open`: the model has failed too often.'
  }),
  origin: CooldownOrigin,
  until: Type.String({ format: 'date-time', description: 'End of the cooldown.' })
})
export type ListedCooldown = Static<typeof ListedCooldown>

/** GET /health */
export const Health = Type.Object({
  status: Type.Literal('ok'),
  degraded: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Parts that do not work at the moment although calls are served.'
    })
  ),
  cooldowns: Type.Optional(
    Type.Array(ListedCooldown, {
      description:
        'Providers and models that the key may use and that are tried after others at the moment. Not listed where `server.public_health` is set.'
    })
  )
})
export type Health = Static<typeof Health>

/** GET /livez and GET /readyz */
export const ProbeStatus = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('unavailable')])
})
export type ProbeStatus = Static<typeof ProbeStatus>
