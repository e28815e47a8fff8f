/** The Koa context of a request, for tests of code that reads one. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import Koa, { type Context } from 'koa'

const app = new Koa()

export function koaContext (request: IncomingMessage, response: ServerResponse): Context {
  return app.createContext(request, response)
}
