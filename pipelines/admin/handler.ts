/** Defines the handler of a route of the admin API: a function from its request to its answer. */

import type { Static, TSchema } from 'typebox'
import type { Reply } from '../../lib/core/reply.ts'
import type { AdminCall } from '../../lib/stages/admin-auth.ts'
import type { Services } from '../../lib/services.ts'
import type { AdminRoute, AdminRoutes } from '../../schemas/admin/routes.ts'

type BodyOf<R extends AdminRoute> = AdminRoutes[R] extends { readonly request: infer S extends TSchema }
  ? Static<S>
  : undefined
export type AnswerOf<R extends AdminRoute> = Static<AdminRoutes[R]['answer']>

/** A call whose request matches the route. */
export interface AdminRequest<R extends AdminRoute = AdminRoute> extends AdminCall {
  readonly request: BodyOf<R>
  readonly search: URLSearchParams
}

/** An answer with headers, or one that is not JSON. */
export class AdminReply {
  readonly reply: Reply

  constructor (reply: Reply) {
    this.reply = reply
  }
}

/** Returns a table as a file for browsers to save. */
export function csvReply (fileName: string, body: Reply['body']): AdminReply {
  const headers = {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${fileName}"`
  }
  return new AdminReply({ status: 200, headers, body })
}

/** Handles the requests of a route. */
export type AdminHandler<R extends AdminRoute> = (
  call: AdminRequest<R>,
  services: Services
) => Promise<AnswerOf<R> | AdminReply>
export type AdminHandlers<R extends AdminRoute = AdminRoute> = { readonly [Route in R]: AdminHandler<Route> }
