/**
 * Builds the endpoint of one route of the admin API: authenticates, checks the request, and runs the handler.
 */

import { copyCall, type Call } from '../../lib/core/call.ts'
import { map } from '../../lib/pipeline/stage.ts'
import type { Reply } from '../../lib/core/reply.ts'
import { replyWith } from '../../lib/replies/reply-with.ts'
import { adminAuth, authorizedAgain, type AdminCall } from '../../lib/stages/admin-auth.ts'
import { bodyCheck } from '../../lib/validation/body-check.ts'
import type { Services } from '../../lib/services.ts'
import { adminRoutes, type AdminRoute, type AdminRouteSpec } from '../../schemas/admin/routes.ts'
import { pipeline, type Handler } from '../pipeline.ts'
import { AdminReply, type AdminHandler, type AdminRequest } from './handler.ts'
import { adminHandlers } from './handlers.ts'

/** The body checks, by route. */
const bodyChecks: ReadonlyMap<string, ReturnType<typeof bodyCheck>> = new Map(
  Object.entries<AdminRouteSpec>(adminRoutes).flatMap(([route, { request }]) =>
    request === undefined ? [] : [[route, bodyCheck(request)] as const]
  )
)

export function adminEndpoint (services: Services, route: AdminRoute, method: string): Handler<Call> {
  const spec: AdminRouteSpec = adminRoutes[route]
  const check = bodyChecks.get(route)
  // paired with the route's own request, which is checked below
  const handler: AdminHandler<AdminRoute> = adminHandlers[route]
  return pipeline(
    adminAuth(services, spec, method),
    map(async (call: AdminCall) => {
      const body = check === undefined ? undefined : await call.body()
      const authorized = check === undefined ? call : await authorizedAgain(call, spec, services.settings)
      const request = check?.(body)
      const search = new URLSearchParams(call.query)
      return copyCall(authorized, { request, search }) as AdminRequest // checked by `check`
    }),
    replyWith(async (call: AdminRequest) => {
      const { 'idempotency-key': key } = call.headers
      // Answers that set a session cookie must not be stored for a retry.
      if (
        method !== 'POST' ||
        spec.scope === undefined ||
        key === undefined ||
        call.principal === undefined
      ) {
        return replyOf(await handler(call, services))
      }
      const {
        principal,
        credential,
        request,
        params,
        admin: { accounts }
      } = call
      const body = await accounts.idempotency.run(
        {
          caller: principal.id,
          credential,
          key: String(key),
          request: JSON.stringify([route, params, request])
        },
        async () => JSON.stringify(await handler(call, services))
      )
      return { status: 200, headers: replyHeaders, body }
    })
  )
}

/** Answers of the admin API must not be cached, or interpreted by a browser as anything but JSON. */
const replyHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff'
} as const

function replyOf (answer: unknown): Reply {
  if (!(answer instanceof AdminReply)) {
    return { status: 200, headers: replyHeaders, body: JSON.stringify(answer) }
  }
  const { reply } = answer
  return { ...reply, headers: { ...replyHeaders, ...reply.headers } }
}
