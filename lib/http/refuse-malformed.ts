/**
 * Answers input that is not a request: bytes that are not HTTP, headers that are too large or never arrive.
 * It never becomes a call, but the answer has the usual form.
 */

import { GatewayError } from '../core/errors.ts'
import { requestId } from '../text/ids.ts'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { jsonReplyHeaders } from '../core/reply.ts'

/**
 * Answers `clientError` of an HTTP server where no answer has begun on the connection. The connection is
 * closed in any case.
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
    if (socket.writable && !hasBegun) refuse(error, socket)
    else socket.destroy(error)
  })
}

function refuse (error: Error, socket: Duplex): void {
  const failure = failureOf(Reflect.get(error, 'code'))
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

function failureOf (code: unknown): GatewayError {
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
