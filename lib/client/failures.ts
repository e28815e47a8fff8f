/** What a failure of undici before the head of a response means for the call. */

import { GatewayError } from '../core/errors.ts'

export interface FailedExchange {
  /** True for a connection that had been idle before. */
  readonly wasIdle: boolean
  /** True when something of a response has come. */
  readonly hasResponseBegun: boolean
  /** Milliseconds since the request was written; `undefined` when it was not. */
  readonly sentMs: number | undefined
}

/**
 * A server that has closed an idle connection refuses what comes over it within a round trip. One that takes
 * longer has worked on it.
 */
const staleWithinMs = 1000

/** Codes of undici for requests that it refuses to send. */
const unsendable: ReadonlySet<unknown> = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED'])

/** Codes of undici for responses that it cannot read, besides the errors of its parser, which have none. */
const unreadable: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
])

/** What undici says of interim responses that a request has to ask for, by their message. */
const unrequested: ReadonlyMap<string, string> = new Map([
  ['bad response', '100 (Continue)'],
  ['bad upgrade', '101 (Switching Protocols)']
])

const closed: ReadonlySet<string> = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET'])

/** Returns true for the failure of a request that no connection would carry: none of it has been written. */
export function isUnsendable ({ code }: NodeJS.ErrnoException): boolean {
  return unsendable.has(code)
}

/**
 * Returns the failure of a request whose response has no readable head.
 *
 * A response that has begun and cannot be read counts as accepted by the provider: undici does not say which
 * status it has.
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
        `The provider answered with the status ${status}, which no request asks for: its \`base_url\` in the ` +
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

/** Returns the error for a status that HTTP does not have: over HTTP/2 a server may send `099`. */
export function unknownStatus (status: number): Error {
  return new Error(`there is no HTTP status ${status}`)
}

/** Returns the error for a response that never gets to its final head. */
export function tooManyInterimResponses (): Error {
  return Object.assign(new Error('there are too many interim responses'), {
    code: 'UND_ERR_HEADERS_OVERFLOW'
  })
}
