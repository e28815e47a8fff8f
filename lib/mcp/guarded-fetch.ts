/**
 * Fetches from addresses that callers name: MCP servers, documents, images by URL. Nothing else connects
 * to them.
 *
 * A name is looked up once, each of its addresses is checked, and the socket connects to a checked
 * address, so a name that resolves differently a moment later (DNS rebinding) gains nothing. Numeric
 * addresses of any spelling are checked as what they are.
 *
 * ```ts
 * const agent = createGuardedAgent({ allowed: ['tools.internal:8080', '10.1.0.0/16'] })
 * const answer = await guardedFetch('https://example.com/mcp', {}, { agent, maxBytes: 1e6 })
 * ```
 */

import { lookup as resolveName, type LookupAddress, type LookupOptions } from 'node:dns'
import { isIP } from 'node:net'
import { AllowedAddresses, bareHost, isPublicAddress } from '../net/public-address.ts'
import { ValueCounter } from '../json/value-counter.ts'
import { loadUndici } from '../net/load-undici.ts'
import type { Agent, Dispatcher, Headers, RequestInit, Response } from 'undici'

export interface GuardedAgentOptions {
  /** Exceptions: `host`, `host:port`, an address or a CIDR range. */
  readonly allowed?: readonly string[]
  readonly connectMs?: number
}

/** Marks a refused address: `AddressRefused.code`, also at the end of the `cause` chain of a failed fetch. */
export const addressRefused = 'ADDRESS_REFUSED'

/** Reports an address that callers may not reach. */
export class AddressRefused extends Error {
  readonly code = addressRefused

  constructor () {
    super('The address is not public.')
    this.name = 'AddressRefused'
  }
}

/** Marks an answer that was too large, in the `cause` chain of what reading it throws. */
export const answerTooLarge = 'ANSWER_TOO_LARGE'

class AnswerTooLarge extends Error {
  readonly code = answerTooLarge

  constructor (message: string) {
    super(message)
    this.name = 'AnswerTooLarge'
  }
}

/**
 * Creates a dispatcher that connects to public unicast addresses and to the allowed exceptions.
 *
 * Sockets to one host are not limited in number, and a body may pause for as long as the request's
 * signal allows: each tool session keeps one open for notifications.
 * Requests fail with `AddressRefused` as their cause, before anything is sent.
 */
export function createGuardedAgent ({ allowed = [], connectMs = 5000 }: GuardedAgentOptions = {}): Agent {
  const { Agent, buildConnector } = loadUndici()
  const exceptions = new AllowedAddresses(allowed)
  return new Agent({
    bodyTimeout: 0,
    connect: (options, callback) => {
      const host = bareHost(options.hostname)
      const admits = (address: string): boolean =>
        isPublicAddress(address) || exceptions.admit(host, options.port, options.protocol, address)
      if (isIP(host) !== 0 && !admits(host)) {
        callback(new AddressRefused(), null)
        return
      }
      // One connector per connection: the lookup has to know the port that was requested.
      buildConnector({ timeout: connectMs, lookup: checkedLookup(admits) })(options, callback)
    }
  })
}

export interface GuardedFetchOptions {
  readonly agent: Dispatcher
  /** Maximum size of the decoded answer; reading a longer body fails with code `ANSWER_TOO_LARGE`. */
  readonly maxBytes: number
  /** Redirects followed, each checked anew. Default 3. */
  readonly maxRedirects?: number
  /** Numbers in one JSON text of the answer at most, of which keys, strings, objects and lists count as eight. Default: any. */
  readonly maxParseCost?: number
  /** Called with the bytes read when the body was read, failed or was cancelled. */
  readonly onEnd?: (bytes: number) => void
}

/**
 * Fetches from an address a caller named.
 *
 * Follows redirects that keep the method. A redirect to another origin gets only harmless headers and
 * no body: one that would need a body is returned as it is. The caller's `signal` bounds the time.
 *
 * @throws TypeError with the network error, or `AddressRefused`, as its cause
 */
export async function guardedFetch (
  url: string | URL, init: RequestInit, { agent, maxBytes, maxParseCost = Infinity, maxRedirects = 3, onEnd = () => {} }: GuardedFetchOptions
): Promise<Response> {
  const { fetch, Headers } = loadUndici()
  let current = new URL(url)
  let headers = new Headers(init.headers)
  for (let followed = 0; ; followed++) {
    if (!/^https?:$/.test(current.protocol)) throw new TypeError('only http and https are supported')
    const response = await fetch(current, {
      ...init, headers, dispatcher: agent, redirect: 'manual'
    })
    const next = followed < maxRedirects ? redirectOf(response, current, init) : undefined
    if (next === undefined) return capped(response, current, { maxBytes, maxParseCost, onEnd })
    await response.body?.cancel()
    if (next.origin !== current.origin) headers = harmless(headers)
    current = next
  }
}

const redirects = new Set([301, 302, 303, 307, 308])

function redirectOf (response: Response, from: URL, { method = 'GET' }: RequestInit): URL | undefined {
  const location = response.headers.get('location')
  if (location === null || !redirects.has(response.status) || !URL.canParse(location, from.href)) return undefined
  const to = new URL(location, from)
  if (/^(get|head)$/i.test(method)) return to
  const keepsMethod = response.status === 307 || response.status === 308
  return keepsMethod && to.origin === from.origin ? to : undefined
}

function harmless (headers: Headers): Headers {
  const kept = new (loadUndici().Headers)()
  for (const name of ['accept', 'accept-language', 'user-agent']) {
    const value = headers.get(name)
    if (value !== null) kept.set(name, value)
  }
  return kept
}

/** Counts the values of the message that arrives: in an event stream, each is a JSON text of its own. */
class MessageValues {
  readonly #inStream: boolean
  #counter = new ValueCounter(Infinity)

  constructor (inStream: boolean) {
    this.#inStream = inStream
  }

  /** Returns the cost of the most expensive message so far in this piece, the one that is open included. */
  costWith (piece: Uint8Array): number {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    let cost = 0
    let from = 0
    for (let end = this.#endOfMessage(bytes, 0); end !== -1; end = this.#endOfMessage(bytes, from)) {
      this.#counter.push(bytes.subarray(from, end))
      cost = Math.max(cost, this.#counter.parseCost)
      this.#counter = new ValueCounter(Infinity)
      from = end + 2
    }
    this.#counter.push(bytes.subarray(from))
    return Math.max(cost, this.#counter.parseCost)
  }

  #endOfMessage (bytes: Buffer, from: number): number {
    return this.#inStream ? bytes.indexOf('\n\n', from) : -1
  }
}

/** Returns the same answer with a body that fails once it is too long, or takes too long to parse. */
function capped (response: Response, url: URL, { maxBytes, maxParseCost, onEnd }: Required<Pick<GuardedFetchOptions, 'maxBytes' | 'maxParseCost' | 'onEnd'>>): Response {
  const reader = response.body?.getReader()
  if (reader === undefined) {
    onEnd(0)
    return response
  }
  let bytes = 0
  const values = new MessageValues(response.headers.get('content-type')?.startsWith('text/event-stream') === true)
  const body = new ReadableStream<Uint8Array>({
    async pull (controller) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          onEnd(bytes)
          controller.close()
          return
        }
        bytes += value.byteLength
        if (bytes > maxBytes) {
          await reader.cancel()
          throw new AnswerTooLarge(`the answer is longer than ${maxBytes} bytes`)
        }
        if (maxParseCost < Infinity && values.costWith(value) > maxParseCost) {
          await reader.cancel()
          throw new AnswerTooLarge('the answer has too many values')
        }
        controller.enqueue(value)
      } catch (error) {
        onEnd(bytes)
        throw error
      }
    },
    async cancel (reason) {
      onEnd(bytes)
      await reader.cancel(reason)
    }
  }, { highWaterMark: 0 })
  const { status, statusText, headers } = response
  const copy = new (loadUndici().Response)(body, { status, statusText, headers })
  Object.defineProperty(copy, 'url', { value: url.href })
  return copy
}

/** Returns a `dns.lookup` that fails when any address of the name is refused. */
function checkedLookup (admits: (address: string) => boolean) {
  return (
    name: string,
    options: LookupOptions,
    callback: (error: Error | null, address: string | LookupAddress[], family?: number) => void
  ): void => {
    resolveName(name, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null || first === undefined) callback(error ?? new Error('no address'), '')
      else if (!addresses.every(({ address }) => admits(address))) callback(new AddressRefused(), '')
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}
