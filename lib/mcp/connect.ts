/**
 * Opens a session with a tool server: streamable HTTP first, the older SSE transport where that is
 * not understood, a child process for the operator's commands. The protocol version is negotiated,
 * from the newest revision down to 2024-11-05.
 *
 * The client library takes a tenth of a second to load, so it is loaded for the first session.
 */

import { deadline } from '../async/deadline.ts'
import { httpStatus, timedOut } from './failure.ts'
import { Session } from './session.ts'
import { sessionFetch } from './session-fetch.ts'
import type {
  Client, ClientOptions, JsonSchemaValidator, JsonSchemaValidatorResult, StreamableHTTPClientTransportOptions, Transport
} from '@modelcontextprotocol/client'
import type { Dispatcher } from 'undici'
import type { Secret } from '../core/secret.ts'
import type { LocalServer, RemoteServer, ToolServerTarget } from './tool-server-target.ts'

export interface ConnectOptions {
  /** To servers of callers. */
  readonly checkedAgent: Dispatcher
  /** To servers of the operator. */
  readonly openAgent: Dispatcher
  /** Of one answer of a server. */
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly listTtlMs: number
}

export type Connect = (target: ToolServerTarget, signal: AbortSignal) => Promise<Session>

/** @throws an error of the client library, after at most about `timeoutMs`, with nothing left open */
export function createConnect (options: ConnectOptions): Connect {
  return async ({ via }, signal) => {
    const timeUp = deadline(options.timeoutMs, signal, new Error('the time to connect is up'))
    try {
      return via.kind === 'local'
        ? await connectLocal(via, options, timeUp.signal)
        : await connectRemote(via, options, timeUp.signal)
    } catch (error) {
      throw timeUp.passed() ? timedOut('connect', error) : error
    } finally {
      timeUp.end()
    }
  }
}

async function connectRemote (via: RemoteServer, options: ConnectOptions, signal: AbortSignal): Promise<Session> {
  const { StreamableHTTPClientTransport, SSEClientTransport } = await import('@modelcontextprotocol/client')
  const url = new URL(via.url)
  const transportOptions: StreamableHTTPClientTransportOptions = {
    fetch: sessionFetch(via.checkAddress ? options.checkedAgent : options.openAgent, options.maxBytes),
    requestInit: { headers: reveal(via.headers) },
    reconnectionScheduler: (reconnect, delayMs) => {
      const timer = setTimeout(reconnect, delayMs)
      timer.unref()
      return () => clearTimeout(timer)
    }
  }
  try {
    const transport = new StreamableHTTPClientTransport(url, transportOptions)
    return await connectOver(transport, options, signal, async () => await transport.terminateSession())
  } catch (error) {
    if (!mayBeOlder(error)) throw error
    return await connectOver(new SSEClientTransport(url, transportOptions), options, signal)
  }
}

/** A server of the older transport answers a POST to its stream's address with one of these. */
function mayBeOlder (error: unknown): boolean {
  const status = httpStatus(error)
  return status !== undefined && [400, 404, 405, 406, 415, 501].includes(status)
}

async function connectLocal (via: LocalServer, options: ConnectOptions, signal: AbortSignal): Promise<Session> {
  const { StdioClientTransport, getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio')
  const transport = new StdioClientTransport({
    command: via.command,
    args: [...via.args],
    // Not the gateway's own environment: there are provider keys in it.
    env: { ...getDefaultEnvironment(), ...reveal(via.env) },
    stderr: 'ignore',
    maxBufferSize: options.maxBytes
  })
  return await connectOver(transport, options, signal)
}

async function connectOver (
  transport: Transport, { timeoutMs, listTtlMs }: ConnectOptions, signal: AbortSignal,
  terminate: () => Promise<void> = async () => {}
): Promise<Session> {
  const { Client } = await import('@modelcontextprotocol/client')
  let session: Session | undefined
  const client = new Client(identity, {
    ...clientOptions, listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => session?.forgetTools() } }
  })
  // Aborting the handshake is not enough: a server may hold the stream that was opened first.
  const giveUp = (): void => { void close(client) }
  signal.addEventListener('abort', giveUp)
  try {
    signal.throwIfAborted()
    await client.connect(transport, { signal, timeout: timeoutMs })
    session = new Session(client, { listTtlMs, listTimeoutMs: timeoutMs, terminate })
    return session
  } catch (error) {
    await close(client)
    throw error
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** The error that brought us here says more than one of closing. */
async function close (client: Client): Promise<void> {
  await client.close().catch(() => undefined)
}

const identity = { name: 'headgate', version: '0.1.0' }

const clientOptions: ClientOptions = {
  versionNegotiation: { mode: 'auto' },
  capabilities: {},
  jsonSchemaValidator: { getValidator: <T>(): JsonSchemaValidator<T> => acceptAnyOutput }
}

/**
 * Output schemas are the server's word about itself. They are not compiled: a schema from outside
 * can hold a pattern that keeps the process busy for hours.
 */
function acceptAnyOutput<T> (input: unknown): JsonSchemaValidatorResult<T> {
  return { valid: true, data: input as T, errorMessage: undefined } // nothing here reads it as a T
}

function reveal (secrets: Readonly<Record<string, Secret>>): Record<string, string> {
  return Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, value.reveal()]))
}
