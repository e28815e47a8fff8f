/** Refuses requests that no endpoint can answer, whatever their path. */

import { GatewayError } from '../core/errors.ts'
import type { Context, Middleware } from 'koa'
import type { AnswerCall } from './answer-call.ts'

/** Returns middleware that refuses requests with an unacceptable `Host`, expectation or URL. */
export function checkRequest (allowsHost: (header: string) => boolean, answer: AnswerCall): Middleware {
  return (context, next) => {
    const refusal = refusalOf(context, allowsHost)
    return refusal === undefined ? next() : answer(context, refusal)
  }
}

function refusalOf (context: Context, allowsHost: (header: string) => boolean): GatewayError | undefined {
  const { headers, httpVersion, rawHeaders, url = '' } = context.req
  // https://www.rfc-editor.org/rfc/rfc9112#section-3.2
  if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length > 1) {
    return new GatewayError('invalid_value', { message: 'The request has more than one Host header.' })
  }
  if (![headers.host ?? '', ...hostOfTarget(url)].every(allowsHost)) {
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
  return hasReadableUrl(context)
    ? undefined
    : new GatewayError('invalid_value', { message: 'The URL of the request is not valid.' })
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

/** Callers may send any target, even `http://[`. */
function hasReadableUrl (context: Context): boolean {
  try {
    return typeof context.path === 'string'
  } catch {
    return false
  }
}
