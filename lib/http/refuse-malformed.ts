/**
 * Answers input that is not a request: bytes that are not HTTP, headers that are too large or do not arrive. It
 * never becomes a call, but the answer has the same form as any other.
 */

import { GatewayError } from '../core/errors.ts'
import { requestId } from '../text/ids.ts'
import { hasBegunAnswer } from './node-internals.ts'
import type { Duplex } from 'node:stream'
import { jsonReplyHeaders } from '../core/reply.ts'

/** Handles `clientError` of an HTTP server. The connection is closed in any case. */
export function refuseMalformed (error: Error, socket: Duplex): void {
  if (!socket.writable || hasBegunAnswer(socket)) {
    socket.destroy(error)
    return
  }
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
