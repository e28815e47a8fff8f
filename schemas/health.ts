import { Type, type Static } from 'typebox'

/** GET /health */
export const Health = Type.Object({
  status: Type.Literal('ok'),
  degraded: Type.Optional(Type.Array(Type.String(), {
    description: 'Parts that do not work at the moment although calls are served.'
  }))
})
export type Health = Static<typeof Health>

/** GET /livez and GET /readyz */
export const ProbeStatus = Type.Object({ status: Type.Union([Type.Literal('ok'), Type.Literal('unavailable')]) })
export type ProbeStatus = Static<typeof ProbeStatus>
