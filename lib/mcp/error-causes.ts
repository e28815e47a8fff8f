/** Reads the errors of the client library, whose facts may be in any of their causes. */

import { isContainer, property } from '../json/type-guards.ts'
import { brokenAnswerCode, listTooLargeCode, noAnswerCode, noMemoryCode } from './repair-message.ts'

/** Yields the error and its chain of causes; all errors of an aggregate, but no data of a JSON-RPC error. */
export function * causes (error: unknown, depth = 0): Generator {
  if (!isContainer(error) || depth > 8) return
  yield error
  if (isJsonRpcError(error)) return
  if (error instanceof AggregateError) for (const one of error.errors) yield * causes(one, depth + 1)
  yield * causes(property(error, 'cause') ?? property(property(error, 'data'), 'cause'), depth + 1)
}

/**
 * Detects a JSON-RPC error: a regular answer whose code, message and data come from the server and say
 * nothing about the connection. Checked by name, because its class is only loaded with the client library.
 */
export function isJsonRpcError (error: unknown): error is Error {
  const code = property(error, 'code')
  return error instanceof Error && error.name === 'ProtocolError' && !gaveNoAnswer(error) &&
    code !== noMemoryCode && code !== listTooLargeCode
}

/** Returns true if the server's answer ended without a valid result or error. */
export function gaveNoAnswer (error: unknown): boolean {
  const code = property(error, 'code')
  return code === noAnswerCode || code === brokenAnswerCode
}

/** Returns the HTTP status in an error of the client library, if any. */
export function httpStatus (error: unknown): number | undefined {
  for (const link of causes(error)) {
    if (isJsonRpcError(link)) continue
    const status = property(link, 'status') ?? property(property(link, 'data'), 'status')
    if (typeof status === 'number') return status
    const code = property(link, 'code') // the older transport stores the status itself
    if (typeof code === 'number' && code >= 400 && code < 600) return code
    const match = /\(HTTP (\d{3})\)/.exec(String(property(link, 'message')))
    if (match !== null) return Number(match[1])
  }
  return undefined
}

const networkCodes = new Set([
  'ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT', 'ENOENT', 'EACCES',
  'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'SELF_SIGNED_CERT_IN_CHAIN', 'CONNECTION_CLOSED'
])

/** Returns true if a connection could not be made, or broke. */
export function isNetworkError (link: unknown): boolean {
  return networkCodes.has(String(property(link, 'code')))
}
