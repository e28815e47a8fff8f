/**
 * Lets pages of other sites call the API, where `server.cors_origins` says so. The admin API is for its own page only.
 *
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** Seconds for which a browser keeps the answer to a preflight: the most that any does. */
const keepSeconds = 86_400

/** Returns a listener that says which pages may read its answers, and answers preflights itself; the same one without any. */
export function withCors (origins: readonly string[], handle: RequestListener): RequestListener {
  if (origins.length === 0) return handle
  const allowed = new Set(origins)
  return (request, response) => {
    if (!isOfApi(request)) return handle(request, response)
    const { origin } = request.headers
    response.setHeader('vary', 'origin')
    if (origin === undefined || !(allowed.has('*') || allowed.has(origin))) return handle(request, response)
    response.setHeader('access-control-allow-origin', origin)
    if (isPreflight(request)) return answerPreflight(request, response)
    response.setHeader('access-control-expose-headers', '*')
    handle(request, response)
  }
}

function isOfApi ({ url = '' }: IncomingMessage): boolean {
  return url.startsWith('/v1/') || url === '/openapi.json'
}

function isPreflight ({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

/** Callers authenticate by a header that the page itself sends, so any header may be there: a browser adds no credential. */
function answerPreflight ({ headers }: IncomingMessage, response: ServerResponse): void {
  response.writeHead(204, {
    'access-control-allow-methods': 'GET, POST, DELETE',
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
    'access-control-max-age': String(keepSeconds),
    vary: 'origin, access-control-request-headers'
  }).end()
}
