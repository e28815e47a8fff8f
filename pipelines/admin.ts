/**
 * The admin API: an endpoint for each row of `schemas/admin/routes`. All share the same steps; the handlers
 * are in `admin/`, which is loaded with the first request.
 */

import { adminRoutes, type AdminRoute, type AdminRouteSpec } from '../schemas/admin/routes.ts'
import type { Call } from '../lib/core/call.ts'
import type { Endpoint } from '../lib/core/endpoint.ts'
import type { Services } from '../lib/services.ts'
import type { Docs } from './docs.ts'
import type { Handler } from './pipeline.ts'

/** Maximum bodies: a configuration may be long, everything else is small. */
const maxBodyBytes = 2 * 1024 * 1024

const csrfHeader = 'With a session, the `csrf_token` of its sign-in.'
const idempotencyHeader =
  'The same key within a day: the request is not executed again and gets the first answer.'

/** A row for the table of endpoints. */
export interface AdminRow extends Pick<Endpoint, 'method' | 'path' | 'body' | 'readsConnection'> {
  readonly name: 'admin'
  readonly maxBodyBytes: () => number
  readonly docs: Docs
  readonly pipeline: (services: Services) => Handler<Call>
}

// keys of `adminRoutes`
const routes = Object.entries(adminRoutes) as ReadonlyArray<[AdminRoute, AdminRouteSpec]>

export const adminRows: readonly AdminRow[] = routes.map(([route, spec]) => {
  const { method, path } = partsOf(route)
  return {
    name: 'admin',
    method,
    path,
    body: spec.request === undefined ? 'none' : 'json',
    maxBodyBytes: () => spec.request === undefined ? 0 : maxBodyBytes,
    readsConnection: true,
    docs: docsOf(spec, method),
    pipeline: services => {
      let handler: Promise<Handler<Call>> | undefined
      return async call => {
        handler ??= import('./admin/endpoint.ts').then(({ adminEndpoint }) =>
          adminEndpoint(services, route, method)
        )
        return await (
          await handler
        )(call)
      }
    }
  }
})

function partsOf (route: AdminRoute): { readonly method: AdminRow['method'], readonly path: string } {
  const [method, path] = route.split(' ') as [AdminRow['method'], string] // by its type
  return { method, path }
}

function docsOf (
  {
    operationId,
    summary,
    role,
    scope,
    query,
    request,
    answer,
    mediaType,
    redirects = false
  }: AdminRouteSpec,
  method: string
): Docs {
  return {
    operationId,
    group: 'Administration',
    summary: role === 'none' || role === 'self' ? summary : `${summary} Needs the role \`${role}\`.`,
    ...query !== undefined && { query },
    ...request !== undefined && { request: { schema: request } },
    answers: redirects
      ? [{ status: 303, description: summary, mediaType: 'text/plain' }]
      : [
          {
            description: summary,
            ...(mediaType === undefined
              ? { schema: answer }
              : mediaType === 'text/csv'
                ? { mediaType }
                : { mediaType, schema: answer })
          }
        ],
    errors: [
      'invalid_value',
      'not_found',
      'conflict',
      'invalid_credentials',
      'rate_limit_exceeded',
      'timeout'
    ],
    requestHeaders: {
      'X-Headgate-CSRF': csrfHeader,
      ...method === 'POST' && scope !== undefined && { 'Idempotency-Key': idempotencyHeader }
    },
    ...(role === 'none' || role === 'self') && {
      headers: { 'set-cookie': 'The cookie of the session, if one begins or ends.' }
    },
    ...redirects && {
      headers: {
        location: 'Where the browser goes next.',
        'set-cookie': 'The cookie of the sign-in in progress, or of the session.'
      }
    },
    ...mediaType === 'text/csv' && { headers: { 'content-disposition': 'The name of the file.' } },
    access: role === 'none' ? 'open' : role === 'self' ? 'session' : 'administration'
  }
}
