/**
 * Lets pages of other sites call the API, where `server.cors_origins` allows it. The admin API is for its own
 * page only.
 *
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */

import type { Context, Middleware } from 'koa'
import type { Endpoint } from '../core/endpoint.ts'

/** Seconds for which a browser may keep the reply to a preflight: the maximum of any browser. */
const keepSeconds = 86_400

/** Returns middleware that allows pages to read replies, and answers preflights. */
export function allowOrigins (origins: readonly string[], endpoints: readonly Endpoint[]): Middleware {
  if (origins.length === 0) return (_context, next) => next()
  const allowed = new Set(origins)
  const isOfApi = pathsOfApi(endpoints)
  return async (context, next) => {
    if (!isOfApi(context.path)) return await next()
    const { origin } = context.req.headers
    context.vary('origin')
    if (origin === undefined || !(allowed.has('*') || allowed.has(origin))) return await next()
    context.set('access-control-allow-origin', origin)
    if (isPreflight(context)) return answerPreflight(context)
    context.set('access-control-expose-headers', '*')
    await next()
  }
}

/** Returns the check for paths of the API: those of version 1, their aliases, and the OpenAPI document. */
function pathsOfApi (endpoints: readonly Endpoint[]): (path: string) => boolean {
  const aliases = endpoints.filter(
    ({ name, isAlias }) => isAlias === true && name !== 'livez' && name !== 'readyz'
  )
  const beginnings = aliases.map(({ path }) => path.split(/[:*]/, 1)[0] ?? path)
  const fixed = new Set([...beginnings, '/openapi.json'])
  const open = ['/v1/', ...beginnings.filter(path => path.endsWith('/'))]
  return path => {
    const lower = path.toLowerCase() // in the same way as routes are found
    return fixed.has(lower) || open.some(beginning => lower.startsWith(beginning))
  }
}

function isPreflight ({ req: { method, headers } }: Context): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/**
 * Callers authenticate with a header that the page itself sends, so any header is allowed: browsers add no
 * credential.
 */
function answerPreflight (context: Context): void {
  context.status = 204
  context.vary('access-control-request-headers')
  context.set({
    'access-control-allow-methods': 'GET, POST, DELETE',
    'access-control-allow-headers': context.get('access-control-request-headers'),
    'access-control-max-age': String(keepSeconds)
  })
}
