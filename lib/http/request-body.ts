/**
 * Finds the bytes of a body: in the request, or where middleware before the gateway has put them.
 */

import { Readable } from 'node:stream'
import { GatewayError } from '../core/errors.ts'
import { property } from '../json/type-guards.ts'
import type { IncomingHttpHeaders } from 'node:http'
import type { Context } from 'koa'

/** A body and the headers that describe it. */
export type RequestBody = Readable & { readonly headers: IncomingHttpHeaders }

/**
 * Returns the body of a request. A body that was already read is taken from `ctx.request.rawBody`, where body
 * parsers keep the decompressed bytes.
 *
 * @throws GatewayError `body_already_read` if it is not there
 */
export function requestBody ({ req, request }: Pick<Context, 'req' | 'request'>): RequestBody {
  if (!req.readableDidRead) return req
  const raw = property(request, 'rawBody')
  if (typeof raw !== 'string' && !(raw instanceof Uint8Array)) throw new GatewayError('body_already_read')
  const bytes = Buffer.from(raw)
  const { 'content-encoding': _encoding, 'transfer-encoding': _framing, ...headers } = req.headers
  return Object.assign(Readable.from([bytes], { objectMode: false }), {
    headers: { ...headers, 'content-length': String(bytes.length) }
  })
}
