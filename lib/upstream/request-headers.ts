/** Puts together the headers of requests to one provider. */

import { GatewayError } from '../core/errors.ts'
import { isHeaderSafe } from '../text/header-value.ts'

type Headers = Readonly<Record<string, string>>

/** Headers as they are written. */
export interface PrintedHeaders {
  readonly lines: string
  readonly contentLength: string | undefined
}

/**
 * Prints the headers of a request: those of all requests, its own and those with the credential. Its own and the credential are mostly
 * the same objects from call to call, and what was printed of them is used again: 2 µs a call. Credentials of callers are forgotten
 * with their calls.
 */
export class RequestHeaders {
  readonly #fixed: Headers
  readonly #printed = new WeakMap<Headers, WeakMap<Headers, PrintedHeaders>>()

  constructor (fixed: Headers) {
    this.#fixed = fixed
  }

  /** @throws GatewayError `internal_error` for a value that no header can have */
  of (own: Headers, credential: Headers): PrintedHeaders {
    let known = this.#printed.get(credential)
    if (known === undefined) this.#printed.set(credential, known = new WeakMap())
    let printed = known.get(own)
    if (printed === undefined) known.set(own, printed = printHeaders(Object.assign({}, this.#fixed, own, credential)))
    return printed
  }
}

/** @throws GatewayError `internal_error` */
export function printHeaders (headers: Headers): PrintedHeaders {
  let lines = ''
  for (const [name, value] of Object.entries(headers)) {
    // Keys are checked where they come in; what slips through must not cost a connection.
    if (!isHeaderSafe(value)) throw new GatewayError('internal_error', { cause: `the header ${name} cannot be sent` })
    lines += `${name}: ${value}\r\n`
  }
  return { lines, contentLength: headers['content-length'] }
}
