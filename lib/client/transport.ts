/**
 * Sends requests to providers; no other module does so over HTTP. undici speaks HTTP; this module adds a
 * bounded and fair queue, cancellation by the call, timeouts, and bodies with back-pressure (`exchange`).
 *
 * Redirects are never followed, so that credentials cannot reach another host. Requests wait for a connection
 * in the gateway's own queue, so that their timeout only starts when they are sent.
 */

import { Clients } from './clients.ts'
import { createDirectClient, createProxiedClient } from './create-client.ts'
import { Exchange, type Connections, type ExchangeContext, type OutgoingRequest } from './exchange.ts'
import { GatewayError } from '../core/errors.ts'
import {
  isSigner, type CredentialHeaders, type Signer, type UnsignedRequest
} from '../providers/credential.ts'
import { ProviderFailure } from '../providers/provider-failure.ts'
import { abortable } from '../async/cancellation.ts'
import { withTimeout } from '../async/with-timeout.ts'
import { Semaphore } from '../async/semaphore.ts'
import { maxSharedRequests, sharedPool } from './shared-pool.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import { bufferBody } from '../wire/buffer-body.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import type { Secret } from '../core/secret.ts'
import type { ProxySettings, TlsSettings } from '../core/settings.ts'
import type { SendOptions, Transport, TransportLoad, UpstreamRequest } from '../providers/provider.ts'

export interface HttpTransportOptions {
  /** `https://host/prefix`; request paths are appended, and its query is added to theirs. */
  readonly baseUrl: string
  /**
   * Maximum concurrent requests, each on a separate socket unless they share one; further requests wait.
   * Default: unlimited.
   */
  readonly connections?: number | undefined
  /** Maximum queued requests; further ones fail with 503. Default: unlimited. */
  readonly maxWaiting?: number
  /** Maximum milliseconds in the queue; then the request fails with 503. Default: until its signal aborts. */
  readonly maxWaitingMs?: number
  readonly connectMs: number
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, Secret>>
  readonly proxy?: ProxySettings | undefined
  readonly tls?: TlsSettings | undefined
  /** True to share connections over HTTP/2, which the server must support; not through a proxy. */
  readonly http2?: boolean | undefined
}

export interface HttpTransport extends Transport {
  /** Waits for open requests, then closes the sockets. */
  readonly close: () => Promise<void>
  readonly load: () => TransportLoad
}

/** Encoding a body of this many characters takes a few milliseconds. */
const largeBodyLength = 2 * 1024 * 1024
/**
 * Larger bodies are written in pieces: if the server answers before it has read everything, the connection
 * must not be reused.
 */
const pieceBytes = 64 * 1024

/** Creates a transport to one provider. */
export function httpTransport (options: HttpTransportOptions): HttpTransport {
  const base = new URL(options.baseUrl)
  const prefix = withoutTrailingSlashes(base.pathname)
  const connections = connectionsTo(base, options)
  const fixed: Record<string, string> = { 'user-agent': 'headgate', 'accept-encoding': 'identity' }
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    fixed[name.toLowerCase()] = value.reveal()
  }

  const maxRequests = options.http2 === true ? maxSharedRequests : Infinity
  const semaphore = new Semaphore(Math.min(options.connections ?? Infinity, maxRequests), options.maxWaiting)
  const context: ExchangeContext = { connections, semaphore, maxWaitingMs: options.maxWaitingMs, refused: 0 }
  let isClosed = false
  const close = async (): Promise<void> => {
    await new Promise<void>(resolve => { semaphore.whenIdle(resolve) })
    isClosed = true
    connections.close()
  }
  let closing: Promise<void> | undefined
  return {
    send: (request, sendOptions) => new Promise((resolve, reject) => {
      const { signal, credential, trace } = sendOptions
      const ownPath = prefix + request.path
      const path = base.search === '' ? ownPath : withQuery(ownPath, base.search)
      const send = (body: UpstreamRequest['body'], credentialHeaders: CredentialHeaders): void => {
        if (signal.aborted) throw signal.reason
        if (isClosed) throw new GatewayError('upstream_unreachable', { cause: 'the transport is closed' })
        const headers: Record<string, string> = {
          ...trace, ...fixed, ...request.headers, ...credentialHeaders
        }
        new Exchange(sendOptions, context, resolve, reject).start({
          method: request.method,
          path,
          headers,
          body: outgoingBody(body, headers)
        })
      }
      if (isSigner(credential)) {
        const unsigned = {
          method: request.method,
          url: base.origin + path,
          headers: { ...trace, ...fixed, ...request.headers }
        }
        wholeBody(request)
          .then(async body => send(body, await signRequest(credential, { ...unsigned, body }, sendOptions)))
          .catch(reject)
        return
      }
      const prepared = preparedBody(request, options.http2 === true)
      if (prepared instanceof Promise) prepared.then(body => send(body, credential)).catch(reject)
      else send(prepared, credential)
    }),
    close: async () => await (closing ??= close()),
    load: () => ({ connections: connections.open, waiting: semaphore.waiting, refused: context.refused })
  }
}

/**
 * Returns the headers that a signer creates for a request.
 *
 * @throws GatewayError `upstream_timeout` if the signer exceeds the connection timeout, and
 *   `upstream_unreachable` for unexpected errors; the signer's own ProviderFailure or GatewayError; or the
 *   signal's reason
 */
export async function signRequest (
  { sign }: Signer,
  request: UnsignedRequest,
  { signal, timeouts }: Pick<SendOptions, 'signal' | 'timeouts'>
): Promise<CredentialHeaders> {
  try {
    const headers = sign(request)
    if (!(headers instanceof Promise)) return headers
    const inTime = await withTimeout(timeouts.connectMs, abortable(headers, signal))
    if (inTime !== undefined) return inTime
    throw new GatewayError('upstream_timeout', { cause: 'the signer took too long' })
  } catch (error) {
    if (signal.aborted || error instanceof GatewayError || error instanceof ProviderFailure) throw error
    throw new GatewayError('upstream_unreachable', { cause: error })
  }
}

function connectionsTo (
  server: URL,
  { connectMs, proxy, tls: { ca, cert, key } = {}, http2 }: HttpTransportOptions
): Connections {
  const tls = {
    ...ca !== undefined && { ca: ca.reveal() },
    ...cert !== undefined && { cert: cert.reveal() },
    ...key !== undefined && { key: key.reveal() }
  }
  const connecting = { timeoutMs: connectMs, tls }
  if (http2 === true) return sharedPool(server, connecting)
  return new Clients(
    server.origin,
    proxy === undefined ? createDirectClient(server, connecting) : createProxiedClient(proxy, connecting)
  )
}

/** @param search a query including its `?` */
function withQuery (path: string, search: string): string {
  return path.includes('?') ? path + search.replace('?', '&') : path + search
}

/** Detects JSON that is serialised in parts: some servers require its length. */
function isLargeJson ({ body, headers }: UpstreamRequest): boolean {
  return (
    typeof body === 'function' &&
    headers['content-type'] === 'application/json' &&
    headers['content-length'] === undefined
  )
}

/**
 * Returns the body to send. Serialising a large one has taken a tick; encoding and writing it takes another.
 */
function preparedBody (
  request: UpstreamRequest,
  isShared: boolean
): UpstreamRequest['body'] | Promise<UpstreamRequest['body']> {
  const { body } = request
  if (typeof body === 'string') return body.length > largeBodyLength ? yieldFairly().then(() => body) : body
  // On a shared connection, undici delays a body in pieces, and all later requests, until no other request is
  // in flight.
  return isLargeJson(request) || (isShared && typeof body === 'function') ? bufferBody(body) : body
}

/** Returns the bytes to sign; `undefined` without a body. */
async function wholeBody ({ body }: UpstreamRequest): Promise<Uint8Array | undefined> {
  if (body === undefined) return undefined
  if (typeof body !== 'string') return await bufferBody(body)
  if (body.length > largeBodyLength) await yieldFairly()
  return encoder.encode(body)
}

/**
 * Encodes into separate memory: slices of a pool would keep its 64 KB alive for the duration of an answer.
 */
const encoder = new TextEncoder()

/** Returns the body for undici. A body in pieces gets a length header, if its length is known. */
function outgoingBody (
  body: UpstreamRequest['body'],
  headers: Record<string, string>
): OutgoingRequest['body'] {
  if (typeof body === 'function') return body()
  if (body === undefined) return null
  const bytes = typeof body === 'string' ? encoder.encode(body) : body
  if (bytes.length <= pieceBytes) return bytes
  headers['content-length'] = String(bytes.length)
  return inPieces(bytes)
}

function * inPieces (bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}
