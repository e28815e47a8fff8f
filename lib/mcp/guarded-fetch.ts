/**
 * Fetches from tool servers, also at addresses from callers. Nothing else connects to those.
 *
 * A name is resolved once, each of its addresses is checked, and the socket connects to a checked address,
 * which defeats DNS rebinding. Numeric addresses are checked in every spelling.
 *
 * ```ts
 * const agent = createGuardedAgent({ allowed: ['tools.internal:8080', '10.1.0.0/16'] })
 * const answer = await guardedFetch('https://example.com/mcp', {}, { agent, maxBytes: 1e6 })
 * ```
 */

import { lookup as resolveName, type LookupAddress, type LookupOptions } from 'node:dns'
import { isIP } from 'node:net'
import { pipeline, Transform, type Readable } from 'node:stream'
import { AllowedAddresses, bareHost, isPublicAddress } from '../net/public-address.ts'
import { GatewayError } from '../core/errors.ts'
import { maxDepth, ValueCounter } from '../json/parse-bounded.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { noMemoryCode } from './repair-message.ts'
import { loadUndici } from '../net/load-undici.ts'
import { isNeverProxiedHost } from '../net/proxy-for.ts'
import { version } from '../text/version.ts'
import { tunnelsThrough, type OpenTunnel } from './tunnels.ts'
import type { Agent, Dispatcher, Response, buildConnector } from 'undici'
import type { HeldMemory } from '../core/held-memory.ts'
import type { ProxySettings } from '../core/settings.ts'

export interface GuardedAgentOptions {
  /** Exceptions: `host`, `host:port`, an address or a CIDR range. */
  readonly allowed?: readonly string[]
  /** Maximum milliseconds to connect, for all addresses of a name together. Default: 5000. */
  readonly connectMs?: number
  /** Proxy for connections, except to this machine, link-local addresses and metadata services. */
  readonly proxy?: ProxySettings | undefined
  /** Aborts proxy connections that are not tunnels yet. */
  readonly signal?: AbortSignal | undefined
}

/** Code of an `AddressRefused`, also at the end of the `cause` chain of a failed fetch. */
export const addressRefused = 'ADDRESS_REFUSED'

/** Callers may not connect to this address. */
class AddressRefused extends Error {
  readonly code = addressRefused

  constructor () {
    super('The address is not public.')
    this.name = 'AddressRefused'
  }
}

/** Code of a `PortRefused`. */
export const portRefused = 'PORT_REFUSED'

class PortRefused extends Error {
  readonly code = portRefused

  constructor () {
    super('Connections to this port are blocked, because it belongs to another protocol.')
    this.name = 'PortRefused'
  }
}

/**
 * Ports of other protocols, whose servers might execute a request as commands, from
 * https://fetch.spec.whatwg.org/#port-blocking.
 */
const refusedPorts = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080
])

/** Code of an oversized answer, in the `cause` chain of the error from reading it. */
export const answerTooLarge = 'ANSWER_TOO_LARGE'

class AnswerTooLarge extends Error {
  readonly code = answerTooLarge

  constructor (message: string) {
    super(message)
    this.name = 'AnswerTooLarge'
  }
}

class NoMemory extends Error {
  readonly code = noMemoryCode

  constructor () {
    super('there is no memory for the answer')
    this.name = 'NoMemory'
  }
}

/**
 * Creates a dispatcher that connects to public unicast addresses and to the allowed exceptions.
 *
 * Sockets per host are unlimited, and a body may pause until the request's signal aborts, because each tool
 * session keeps one open for notifications. Requests to other addresses fail with `AddressRefused` as the
 * cause, before anything is sent.
 */
export function createGuardedAgent (
  { allowed = [], connectMs = 5000, proxy, signal }: GuardedAgentOptions = {}
): Agent {
  const { Agent, buildConnector } = loadUndici()
  const exceptions = new AllowedAddresses(allowed)
  const openTunnel = proxy === undefined ? undefined : tunnelsThrough(proxy, { connectMs, signal })
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
      // One connector per connection, because the lookup must know the port.
      const lookup = checkedLookup(admits)
      const connect = buildConnector({ timeout: connectMs, lookup })
      if (openTunnel === undefined || isNeverProxiedHost(host.toLowerCase())) connect(options, callback)
      else tunnelled({ lookup, openTunnel, connect, connectMs }, options, callback)
    }
  })
}

interface Tunnelling {
  readonly lookup: Lookup
  readonly openTunnel: OpenTunnel
  /** Connects directly, or speaks TLS over a tunnel. */
  readonly connect: buildConnector.connector
  /** Maximum milliseconds for the tunnels to all addresses together. */
  readonly connectMs: number
}

/** Maximum addresses of a name to try through a proxy: a name may have hundreds. */
const maxTunnelAddresses = 4

/**
 * Connects through a proxy to the first checked address it can reach; the server name is only used in TLS.
 * The remaining time is divided among the addresses, so that one that hangs does not use it up.
 */
function tunnelled (
  { lookup, openTunnel, connect, connectMs }: Tunnelling,
  options: buildConnector.Options,
  callback: buildConnector.Callback
): void {
  const isSecure = options.protocol === 'https:'
  const port = Number(options.port) || (isSecure ? 443 : 80)
  const open = async (addresses: readonly LookupAddress[]): Promise<void> => {
    const endsAtMs = performance.now() + connectMs
    let failure = new Error('no address')
    for (const [index, { address }] of addresses.entries()) {
      try {
        const leftMs = Math.max(0, endsAtMs - performance.now())
        const httpSocket = await openTunnel(address, port, leftMs / (addresses.length - index))
        if (isSecure) connect({ ...options, httpSocket }, callback)
        else callback(null, httpSocket)
        return
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error))
      }
    }
    callback(failure, null)
  }
  lookup(bareHost(options.hostname), { all: true }, (error, found) => {
    const addresses = Array.isArray(found) ? found : []
    if (error !== null) callback(error, null)
    else if (addresses.some(({ address }) => isNeverProxiedHost(address))) connect(options, callback)
    else void open(addresses.slice(0, maxTunnelAddresses))
  })
}

/** Maximum redirects per request; each is checked. */
const maxRedirects = 3

/** Unlimited memory. */
export const unbounded: HeldMemory = { take: () => undefined, release: () => undefined }

export interface GuardedFetchOptions {
  readonly agent: Dispatcher
  /** Connects to other origins after redirects. Default: the same agent. */
  readonly elsewhere?: Dispatcher
  /** Maximum size of the decoded answer; reading a longer body fails with code `ANSWER_TOO_LARGE`. */
  readonly maxBytes: number
  /**
   * Maximum cost to parse one JSON text of the answer: a number costs 1, and a key, string, object or list
   * costs 8. Default: unlimited.
   */
  readonly maxParseCost?: number
  /**
   * Memory for unread data; without any left, reading the body fails with code `noMemoryCode`. Default:
   * unlimited.
   */
  readonly memory?: HeldMemory
  /** Called after the body was read, failed or was cancelled. */
  readonly onEnd?: () => void
}

export interface GuardedRequest {
  /** Default `GET`. */
  readonly method?: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Limits the total time. */
  readonly signal?: AbortSignal
}

/**
 * Fetches from an address named by a caller, with undici's `request`: its `fetch` takes 0.2 ms longer for a
 * short answer.
 *
 * Follows redirects that keep the method. A redirect to another origin gets only harmless headers and no
 * body; one that would need a body is returned unchanged. The answer is requested without compression.
 *
 * @throws the network error, `AddressRefused`, `PortRefused`, or the signal's reason
 */
export async function guardedFetch (
  url: string | URL,
  { method = 'GET', headers: given = {}, body, signal }: GuardedRequest,
  {
    agent,
    elsewhere = agent,
    maxBytes,
    maxParseCost = Infinity,
    memory = unbounded,
    onEnd = () => {}
  }: GuardedFetchOptions
): Promise<Response> {
  let current = new URL(url)
  const { origin } = current
  let headers = given
  for (let followed = 0; ; followed++) {
    if (!/^https?:$/.test(current.protocol)) throw new TypeError('only http and https are supported')
    if (refusedPorts.has(Number(current.port))) throw new PortRefused()
    const answer = await (current.origin === origin ? agent : elsewhere).request({
      origin: current.origin,
      path: current.pathname + current.search,
      method,
      headers: { 'user-agent': `headgate/${version}`, 'accept-encoding': 'identity', ...headers },
      body: body ?? null,
      // undici fails an assertion if a connection ends while a body is paused: this pauses only oversized
      // ones.
      highWaterMark: maxBytes + 1,
      signal: signal ?? null
    })
    const next = followed < maxRedirects ? redirectOf(answer, current, method) : undefined
    if (next === undefined) {
      return await toResponse(answer, current, { maxBytes, maxParseCost, memory, onEnd, signal })
    }
    await answer.body.dump()
    if (next.origin !== current.origin) headers = harmless(headers)
    current = next
  }
}

const redirects = new Set([301, 302, 303, 307, 308])

function redirectOf (
  { statusCode, headers }: Dispatcher.ResponseData,
  from: URL,
  method: string
): URL | undefined {
  const { location } = headers
  if (typeof location !== 'string' || !redirects.has(statusCode) || !URL.canParse(location, from.href)) {
    return undefined
  }
  const to = new URL(location, from)
  if (/^(get|head)$/i.test(method)) return to
  const keepsMethod = statusCode === 307 || statusCode === 308
  return keepsMethod && to.origin === from.origin ? to : undefined
}

function harmless (headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    ['accept', 'accept-language', 'user-agent'].flatMap(name => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value]]
    })
  )
}

/** Counts the values of the current message: each message of an event stream is a separate JSON text. */
class MessageValues {
  readonly #inStream: boolean
  #counter = new ValueCounter(Infinity)
  #openBytes = 0

  constructor (inStream: boolean) {
    this.#inStream = inStream
  }

  /** Returns the bytes received of the open message. */
  get openBytes (): number {
    return this.#openBytes
  }

  /** Returns the cost of the most expensive message in this piece so far, including the open one. */
  costWith (piece: Uint8Array): number {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    const blankLine = bytes.includes('\r\n\r\n') ? '\r\n\r\n' : '\n\n'
    const endFrom = (at: number): number => this.#inStream ? bytes.indexOf(blankLine, at) : -1
    let cost = 0
    let from = 0
    for (let end = endFrom(0); end !== -1; end = endFrom(from)) {
      this.#counter.push(bytes.subarray(from, end))
      cost = Math.max(cost, this.#cost())
      this.#counter = new ValueCounter(Infinity)
      this.#openBytes = 0
      from = end + blankLine.length
    }
    this.#counter.push(bytes.subarray(from))
    this.#openBytes += bytes.length - from
    return Math.max(cost, this.#cost())
  }

  /** Treats excessive nesting as too expensive: serialising it would overflow the stack. */
  #cost (): number {
    return this.#counter.deepest > maxDepth ? Infinity : this.#counter.parseCost
  }
}

/** Each byte counts twice: a message is in memory as bytes and as a string. */
const answerCopies = 2

/** Reserves memory for received data until its message has been read. */
class Arrival {
  readonly #memory: HeldMemory
  #heldBytes = 0

  constructor (memory: HeldMemory) {
    this.#memory = memory
  }

  /**
   * Returns the data of a body, read eagerly from the source, which would buffer unread data uncounted.
   *
   * @param maxBytes buffered without back-pressure; anything above fails immediately
   */
  of (source: Readable, maxBytes: number): Readable {
    let arrivedBytes = 0
    const arrived = new Transform({
      readableHighWaterMark: maxBytes + 1, // never full, so nothing waits uncounted in the source
      transform: (piece: Buffer, _, callback) => {
        try {
          arrivedBytes += piece.length
          if (arrivedBytes > maxBytes) throw new AnswerTooLarge(`the answer is longer than ${maxBytes} bytes`)
          this.#memory.take(answerCopies * piece.length)
          this.#heldBytes += piece.length
          callback(null, piece)
        } catch (error) {
          callback(error instanceof GatewayError ? new NoMemory() : error as Error) // thrown above
        }
      }
    })
    pipeline(source, arrived, () => undefined) // the reader receives the error
    return arrived
  }

  /** Releases the memory of what was read. */
  release (bytes = this.#heldBytes): void {
    this.#heldBytes -= bytes
    this.#memory.release(answerCopies * bytes)
  }
}

/**
 * Maximum cost of an answer, which the client library parses and validates in one tick: 40 ms, for example
 * for 450 tools with 15 properties each.
 */
export const maxParseCost = 250_000

/** Bytes per tick: parsing the messages takes time. */
const sliceBytes = 16 * 1024

/** Yields a body in slices. Data that arrived together would otherwise be processed without a pause. */
export async function * slicesOf (source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  let isFirst = true
  for await (const piece of source) {
    for (let at = 0; at < piece.byteLength; at += sliceBytes) {
      if (!isFirst) await yieldFairly()
      isFirst = false
      yield piece.subarray(at, at + sliceBytes)
    }
  }
}

interface ResponseOptions
  extends Required<Pick<GuardedFetchOptions, 'maxBytes' | 'maxParseCost' | 'memory' | 'onEnd'>> {
  readonly signal: AbortSignal | undefined
}

/** Returns the answer with a body that fails if it is too long or too expensive to parse. */
async function toResponse (
  { statusCode, headers, body: source }: Dispatcher.ResponseData,
  url: URL,
  { maxBytes, maxParseCost, memory, onEnd, signal }: ResponseOptions
): Promise<Response> {
  const { Headers, Response } = loadUndici()
  const arrival = new Arrival(memory)
  const hasBody = ![204, 205, 304].includes(statusCode)
  const arrived = hasBody ? arrival.of(source, maxBytes) : source
  const pieces = slicesOf(arrived)
  let hasEnded = false
  const end = (): void => {
    if (hasEnded) return
    hasEnded = true
    signal?.removeEventListener('abort', end)
    onEnd()
    for (const stream of [arrived, source]) {
      stream.on('error', () => undefined).destroy() // the error only says that it was not read to the end
    }
    arrival.release()
  }
  signal?.addEventListener('abort', end) // also ends an unread body
  const values = new MessageValues(String(headers['content-type']).startsWith('text/event-stream'))
  const body = new ReadableStream<Uint8Array>(
    {
      async pull (controller) {
        try {
          const { done, value } = await pieces.next()
          if (done === true) {
            end()
            controller.close()
            return
          }
          const openBytes = values.openBytes + value.byteLength
          if (values.costWith(value) > maxParseCost) {
            throw new AnswerTooLarge(
              `the answer has too many values, or is nested deeper than ${maxDepth} levels`
            )
          }
          arrival.release(openBytes - values.openBytes)
          controller.enqueue(value)
        } catch (error) {
          end()
          throw error
        }
      },
      cancel: end
    },
    { highWaterMark: 0 }
  )
  const names = Object.entries(headers).flatMap(([name, value = []]) =>
    [value].flat().map((one): [string, string] => [name, one])
  )
  if (statusCode > 599) {
    end()
    throw new TypeError(`${statusCode} is not an HTTP status`) // `Response` does not accept it either
  }
  if (!hasBody) await source.dump().finally(end)
  const response = new Response(hasBody ? body : null, { status: statusCode, headers: new Headers(names) })
  Object.defineProperty(response, 'url', { value: url.href })
  return response
}

type Lookup = (
  name: string,
  options: LookupOptions,
  callback: (error: Error | null, address: string | LookupAddress[], family?: number) => void
) => void

/** Returns a `dns.lookup` that fails if any address of the name is rejected. */
function checkedLookup (admits: (address: string) => boolean): Lookup {
  return (name, options, callback) => {
    resolveName(name, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null || first === undefined) callback(error ?? new Error('no address'), '')
      else if (!addresses.every(({ address }) => admits(address))) callback(new AddressRefused(), '')
      else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}
