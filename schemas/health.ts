import { Type, type Static } from 'typebox'

/** GET /health */
export const Health = Type.Object({
  status: Type.Literal('ok'),
  degraded: Type.Optional(Type.Array(Type.String(), {
    description: 'What does not work at the moment while calls go on.'
  }))
})
export type Health = Static<typeof Health>
