/** Interprets undici's errors before the head of a response. */

import { GatewayError } from '../core/errors.ts'

export interface FailedExchange {
  /** True if the connection was idle before. */
  readonly wasIdle: boolean
  /** True if part of a response has arrived. */
  readonly hasResponseBegun: boolean
  /** Milliseconds since the request was written; `undefined` if it was not. */
  readonly sentMs: number | undefined
}

/**
 * A server that has closed an idle connection rejects a request within a round trip. A later error means that
 * the server worked on it.
 */
const staleWithinMs = 1000

/** undici's codes for requests it refuses to send. */
const unsendable: ReadonlySet<unknown> = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED'])

/** undici's codes for unreadable responses; its parser errors have none. */
const unreadable: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
])

/** undici's messages for interim responses that the request did not ask for. */
const unrequested: ReadonlyMap<string, string> = new Map([
  ['bad response', '100 (Continue)'],
  ['bad upgrade', '101 (Switching Protocols)']
])

const closed: ReadonlySet<string> = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET'])

/** Returns true if undici rejected the request itself, so that none of it was written. */
export function isUnsendable ({ code }: NodeJS.ErrnoException): boolean {
  return unsendable.has(code)
}

/**
 * Converts the failure of a request whose response has no readable head.
 *
 * An unreadable response counts as accepted by the provider: undici does not report its status.
 */
export function failureBeforeHead (
  error: Error,
  { wasIdle, hasResponseBegun, sentMs }: FailedExchange
): GatewayError {
  const { name, code = '' }: NodeJS.ErrnoException = error
  if (isUnsendable(error)) {
    return new GatewayError('internal_error', {
      message:
        'The request to the provider cannot be sent: its path or a header has characters that HTTP does not allow.',
      cause: error
    })
  }
  const status = code === 'UND_ERR_SOCKET' ? unrequested.get(error.message) : undefined
  if (status !== undefined) {
    return new GatewayError('upstream_invalid_response', {
      message:
        `The provider answered with status ${status}, which the request did not ask for: its \`base_url\` in the ` +
        'configuration may be wrong (see `headgate doctor`).',
      cause: error,
      acceptedByProvider: hasResponseBegun
    })
  }
  const isClosed = closed.has(code)
  if (name === 'HTTPParserError' || unreadable.has(code) || (hasResponseBegun && !isClosed)) {
    return new GatewayError('upstream_invalid_response', {
      cause: error,
      acceptedByProvider: hasResponseBegun
    })
  }
  const mayHaveWorked = hasResponseBegun || (sentMs !== undefined && sentMs >= staleWithinMs)
  return new GatewayError('upstream_unreachable', {
    cause: error,
    staleConnection: isClosed && wasIdle && sentMs !== undefined && !mayHaveWorked,
    mayBeBilled: mayHaveWorked
  })
}

/** Returns the error for an invalid HTTP status: over HTTP/2 a server may send `099`. */
export function unknownStatus (status: number): Error {
  return new Error(`there is no HTTP status ${status}`)
}

/** Returns the error for a response with too many interim heads. */
export function tooManyInterimResponses (): Error {
  return Object.assign(new Error('there are too many interim responses'), {
    code: 'UND_ERR_HEADERS_OVERFLOW'
  })
}
