/**
 * Opens a session with a tool server: over streamable HTTP, over the older SSE transport if the server lacks
 * it, or with a child process for the operator's commands. The protocol version is negotiated, from the
 * newest revision down to 2024-11-05.
 *
 * Loading the client library takes a tenth of a second, so it is left to the first session or to
 * `loadClient`.
 */

import { CommandTransport } from './command-transport.ts'
import { startDeadline } from '../async/start-deadline.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { version } from '../text/version.ts'
import { httpStatus } from './error-causes.ts'
import { timedOut } from './failure.ts'
import { loadUndici } from '../net/load-undici.ts'
import { Session } from './session.ts'
import { sessionFetch } from './session-fetch.ts'
import type { Listing } from './repair-message.ts'
import type {
  Client,
  ClientOptions,
  JsonSchemaValidator,
  JsonSchemaValidatorResult,
  StreamableHTTPClientTransportOptions,
  Transport
} from '@modelcontextprotocol/client'
import type { HeldMemory, HoldMemory } from '../core/held-memory.ts'
import type { Secret } from '../core/secret.ts'
import type { Agents } from './agents.ts'
import type { LocalServer, RemoteServer, ToolServerTarget } from './tool-server-target.ts'

/**
 * Loads what sessions need, in two ticks; otherwise the first session would block for it.
 */
export async function loadClient (): Promise<void> {
  loadUndici()
  await yieldFairly()
  await import('@modelcontextprotocol/client')
}

export interface ConnectOptions {
  readonly agents: Agents
  /** Maximum size of one answer, and of all pages of a tool list together. */
  readonly maxBytes: number
  /** Reserves memory for incoming answers. */
  readonly holdMemory: HoldMemory
  readonly timeoutMs: number
  readonly listTtlMs: number
}

/** Limits of the delay before an ended stream is reopened. */
const minReconnectMs = 1000
const maxReconnectMs = 3_600_000

export type Connect = (target: ToolServerTarget, signal: AbortSignal) => Promise<Session>

/**
 * Returns a function that opens sessions.
 *
 * @throws an error of the client library, after roughly `timeoutMs` at most, with nothing left open
 */
export function createConnect (options: ConnectOptions): Connect {
  return async ({ connection: via, keyId }, signal) => {
    const timeout = startDeadline(options.timeoutMs, signal, new Error('timed out while connecting'))
    try {
      return via.kind === 'command'
        ? await connectLocal(via, () => options.holdMemory(keyId), options, timeout.signal)
        : await connectRemote(via, () => options.holdMemory(keyId), options, timeout.signal)
    } catch (error) {
      throw timeout.passed() ? timedOut('connect', error) : error
    } finally {
      timeout.end()
    }
  }
}

async function connectRemote (
  via: RemoteServer,
  hold: () => HeldMemory,
  options: ConnectOptions,
  signal: AbortSignal
): Promise<Session> {
  const { StreamableHTTPClientTransport, SSEClientTransport } = await import('@modelcontextprotocol/client')
  const url = new URL(via.url)
  const listing: Listing = { leftOut: new Set(), bytes: 0, maxBytes: options.maxBytes }
  const fetchOptions = {
    origin: url.origin,
    agent: via.checkAddress ? options.agents.checked() : options.agents.open(),
    elsewhere: options.agents.checked(),
    maxBytes: options.maxBytes,
    hold,
    listing
  }
  const transportOptions: StreamableHTTPClientTransportOptions = {
    fetch: sessionFetch(fetchOptions),
    requestInit: { headers: reveal(via.headers) },
    reconnectionScheduler: (reconnect, delayMs) => {
      // the server chooses the delay, which may be zero
      const timer = setTimeout(reconnect, Math.min(maxReconnectMs, Math.max(minReconnectMs, delayMs)))
      timer.unref()
      return () => clearTimeout(timer)
    }
  }
  try {
    const transport = new StreamableHTTPClientTransport(url, transportOptions)
    return await connectOver(
      transport,
      options,
      signal,
      listing,
      async () => await transport.terminateSession()
    )
  } catch (error) {
    if (!mayUseSse(error)) throw error
    const sseOptions = { ...transportOptions, fetch: sessionFetch({ ...fetchOptions, answersInBody: false }) }
    const transport = new SSEClientTransport(url, sseOptions)
    // The older transport predates revision discovery: some servers never answer the request.
    return await connectOver(transport, { ...options, probeMs: 0 }, signal, listing)
  }
}

/** Returns true for a status with which SSE servers reject a POST to their stream's address. */
function mayUseSse (error: unknown): boolean {
  const status = httpStatus(error)
  return status !== undefined && [400, 404, 405, 406, 415, 501].includes(status)
}

async function connectLocal (
  via: LocalServer,
  hold: () => HeldMemory,
  options: ConnectOptions,
  signal: AbortSignal
): Promise<Session> {
  const { getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio')
  const { maxBytes, timeoutMs } = options
  const listing: Listing = { leftOut: new Set(), bytes: 0, maxBytes }
  const start = (): CommandTransport => new CommandTransport({
    command: via.command,
    args: via.args,
    // Not the gateway's environment, which contains provider keys.
    env: { ...getDefaultEnvironment(), ...reveal(via.env) },
    maxBytes,
    memory: hold(),
    listing
  })
  const first = start()
  try {
    // A server that does not state its revision is assumed to speak an earlier one.
    return await connectOver(first, { ...options, probeMs: timeoutMs / 3 }, signal, listing)
  } catch (error) {
    if (signal.aborted || !first.endedByItself) throw error
    // Some servers exit on an unknown request.
    return await connectOver(start(), { ...options, probeMs: 0 }, signal, listing)
  }
}

interface SessionOptions extends ConnectOptions {
  /** Milliseconds for a server to state its revision; 0 skips the request. Default: `timeoutMs`. */
  readonly probeMs?: number
}

async function connectOver (
  transport: Transport,
  { timeoutMs, listTtlMs, probeMs = timeoutMs }: SessionOptions,
  signal: AbortSignal,
  listing: Listing,
  terminate: () => Promise<void> = async () => {}
): Promise<Session> {
  const { Client } = await import('@modelcontextprotocol/client')
  let session: Session | undefined
  const client = new Client(identity, {
    ...clientOptions,
    versionNegotiation: probeMs === 0 ? { mode: 'legacy' } : { mode: 'auto', probe: { timeoutMs: probeMs } },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => session?.forgetTools() } }
  })
  // Aborting the handshake is not enough: a server may keep open the stream that was opened first.
  const abandon = (): void => { void close(client) }
  signal.addEventListener('abort', abandon)
  try {
    signal.throwIfAborted()
    await client.connect(transport, { signal, timeout: timeoutMs })
    session = new Session(client, { listTtlMs, listTimeoutMs: timeoutMs, listing, terminate })
    return session
  } catch (error) {
    await close(client)
    throw error
  } finally {
    signal.removeEventListener('abort', abandon)
  }
}

/** Closes without throwing: the original error is more useful. */
async function close (client: Client): Promise<void> {
  await client.close().catch(() => undefined)
}

const identity = { name: 'headgate', version }

const clientOptions: ClientOptions = {
  capabilities: {},
  jsonSchemaValidator: { getValidator: <T>(): JsonSchemaValidator<T> => acceptAnyOutput }
}

/**
 * Accepts any output, instead of compiling the server's output schema: an untrusted schema can contain a
 * pattern that blocks the process for hours.
 */
function acceptAnyOutput<T> (input: unknown): JsonSchemaValidatorResult<T> {
  return { valid: true, data: input as T, errorMessage: undefined } // nothing here relies on `T`
}

function reveal (secrets: Readonly<Record<string, Secret>>): Record<string, string> {
  return Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, value.reveal()]))
}
