/** The answer of GET /health. */

import { Type, type Static } from 'typebox'

/** `degraded`: calls go on, but something beside them, such as the store, does not. */
export const Health = Type.Object({
  status: Type.String({ description: '`ok`, or `degraded` with more fields that say why.' })
}, { description: 'How the service is.' })
export type Health = Static<typeof Health>
