/**
 * Refuses what no endpoint could answer: input that is not HTTP, requests in excess of what a connection may
 * have waiting, and requests with an unacceptable host, expectation or URL.
 */

import { GatewayError } from '../core/errors.ts'
import { jsonReplyHeaders } from '../core/reply.ts'
import { isLoopback } from '../net/loopback.ts'
import { requestId } from '../text/ids.ts'
import { isPipelined } from './node-internals.ts'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Context, Middleware } from 'koa'
import type { AnswerHandler } from './answer-call.ts'

/**
 * Answers input that is not a request: bytes that are not HTTP, headers that are too large or never arrive.
 * It never becomes a call, but the reply has the usual form. There is none if a reply has begun on the
 * connection, which is closed in any case.
 */
export function refuseMalformed (server: Server): void {
  /** Unsent responses, by connection. */
  const open = new WeakMap<Duplex, Set<ServerResponse>>()
  const note = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const responses = open.get(socket) ?? new Set()
    open.set(socket, responses.add(response))
    response.once('close', () => responses.delete(response))
  }
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, note)
  server.on('clientError', (error, socket) => {
    const hasBegun = [...(open.get(socket) ?? [])].some(
      ({ headersSent, writableFinished }) => headersSent && !writableFinished
    )
    if (socket.writable && !hasBegun) answerMalformed(error, socket)
    else socket.destroy(error)
  })
}

function answerMalformed (error: Error, socket: Duplex): void {
  const failure = malformedError(Reflect.get(error, 'code'))
  const body = JSON.stringify(failure.toBody())
  const head = [
    `HTTP/1.1 ${failure.status} ${phrases.get(failure.status) ?? ''}`,
    `x-request-id: ${requestId(undefined)}`,
    `content-type: ${jsonReplyHeaders['content-type']}`,
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(failure.headers()).map(([name, value]) => `${name}: ${value}`),
    'connection: close'
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

function malformedError (code: unknown): GatewayError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('request_timeout', { message: 'The request headers did not arrive in time.' })
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('invalid_value', { status: 431, message: 'The request headers are too large.' })
    default:
      return new GatewayError('invalid_value', { message: 'The request is not valid HTTP.' })
  }
}

const phrases: ReadonlyMap<number, string> = new Map([
  [400, 'Bad Request'], [408, 'Request Timeout'], [431, 'Request Header Fields Too Large']
])

/** Returns middleware that limits the requests waiting on each connection, and checks every other request. */
export function checkRequests (
  pipelining: PipelinedRequests,
  allowsHost: (header: string) => boolean,
  answer: AnswerHandler
): Middleware {
  return (context, next) => {
    const decision = isPipelined(context.res) ? pipelining.admit(context.req, context.res) : 'serve'
    if (decision === 'drop') {
      context.respond = false
      return Promise.resolve()
    }
    const refusal =
      decision === 'refuse' ? tooManyPipelined(pipelining.maxUnanswered) : refusalOf(context, allowsHost)
    return refusal === undefined ? next() : answer(context, refusal)
  }
}

function tooManyPipelined (limit: number): GatewayError {
  return new GatewayError('overloaded', {
    message: `Too many pipelined requests on this connection (limit ${limit}).`
  })
}

/**
 * Limits the unanswered requests of each connection: those that a caller sends without waiting for replies.
 *
 * Node.js hands over every request of a read together: 64 KiB hold two thousand `GET /livez`, each of which
 * would become a call. The first request above the limit is refused, and its connection ends with that
 * reply; later requests are dropped.
 */
export class PipelinedRequests {
  /** Requests that may be unanswered at a time, including the one that is being answered. */
  maxUnanswered: number
  /** Requests that wait behind the one that is being answered. */
  readonly #waiting = new WeakMap<Socket, number>()
  /** Connections with a refused request: they end with that reply. */
  readonly #refused = new WeakSet<Socket>()

  constructor (maxUnanswered: number) {
    this.maxUnanswered = maxUnanswered
  }

  /** Decides about a request that waits behind another one. */
  admit ({ socket }: IncomingMessage, response: ServerResponse): 'serve' | 'refuse' | 'drop' {
    if (this.#refused.has(socket)) return 'drop'
    const waiting = this.#waiting.get(socket) ?? 0
    if (waiting + 1 >= this.maxUnanswered) {
      this.#refused.add(socket)
      response.setHeader('connection', 'close')
      socket.pause()
      return 'refuse'
    }
    this.#waiting.set(socket, waiting + 1)
    response.once('close', () => { this.#waiting.set(socket, (this.#waiting.get(socket) ?? 1) - 1) })
    return 'serve'
  }
}

function refusalOf (context: Context, allowsHost: (header: string) => boolean): GatewayError | undefined {
  const { headers, httpVersion, rawHeaders, url = '' } = context.req
  const { host = '' } = headers
  // https://www.rfc-editor.org/rfc/rfc9112#section-3.2
  if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length > 1) {
    return new GatewayError('invalid_value', { message: 'The request has more than one Host header.' })
  }
  if (!(url.startsWith('/') ? [host] : [host, ...hostOfTarget(url)]).every(allowsHost)) {
    if (headers.host === undefined) return noHost()
    return new GatewayError('invalid_value', {
      status: 421,
      message:
        'The gateway does not serve this host name. The operator can add it to `server.accepted_hosts`.'
    })
  }
  if (httpVersion === '1.1') { // HTTP/1.0 has none of these headers
    if (headers.host === undefined) return noHost()
    // https://www.rfc-editor.org/rfc/rfc9112#section-6.1
    if (headers['transfer-encoding'] !== undefined && !/^chunked$/i.test(headers['transfer-encoding'])) {
      return new GatewayError('invalid_value', { message: 'Only the transfer coding `chunked` is supported.' })
    }
    // https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1
    if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) {
      return new GatewayError('invalid_value', {
        status: 417,
        message: 'Only the expectation `100-continue` is supported.'
      })
    }
  }
  try {
    if (typeof context.path === 'string') return undefined
  } catch {
    // Callers may send any target, even `http://[`.
  }
  return new GatewayError('invalid_value', { message: 'The URL of the request is not valid.' })
}

function noHost (): GatewayError {
  return new GatewayError('invalid_value', { message: 'The request has no Host header.' })
}

/**
 * Returns the host of a target in absolute form, which takes precedence over `Host`: `GET http://name/path`.
 */
function hostOfTarget (url: string): string[] {
  const [, authority] = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(url) ?? []
  return authority === undefined ? [] : [authority.slice(authority.lastIndexOf('@') + 1)]
}

/**
 * Returns a check of the `Host` header. At a loopback address it accepts names and addresses of loopback and
 * those in `acceptedHosts`; at any other address everything, unless `acceptedHosts` is set. `*` accepts
 * everything.
 *
 * A web page whose name resolves to a loopback address (DNS rebinding) can send requests to a gateway that
 * only this machine should reach. Its name in `Host` gives it away.
 */
export function allowedHosts ({
  host,
  acceptedHosts
}: {
  readonly host: string
  readonly acceptedHosts: readonly string[]
}): (header: string) => boolean {
  if (acceptedHosts.includes('*') || (acceptedHosts.length === 0 && !isLoopback(host))) return () => true
  const names = new Set(acceptedHosts.map(name => name.toLowerCase()))
  return header => {
    const name = header.toLowerCase().replace(/:\d*$/, '')
    return names.has(name) || isLoopback(name)
  }
}
