/** One open connection to a tool server, shared by concurrent calls. */

import type { Client, CallToolResult, Tool as ServerTool } from '@modelcontextprotocol/client'
import { ToolServerFailure } from './failure.ts'
import type { Listing } from './repair-message.ts'

export type { CallToolResult, ServerTool }

export interface Progress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

export interface SessionCall {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly onProgress?: (progress: Progress) => void
  /** `_meta` of the request. */
  readonly meta?: RequestMeta | undefined
}

/** Trace headers sent with a request. */
export type RequestMeta = Readonly<Record<string, string>>

export interface SessionOptions {
  readonly listTtlMs: number
  readonly listTimeoutMs: number
  readonly listing: Listing
  /** Ends the session at the server; the client is closed afterwards. */
  readonly terminate: () => Promise<void>
}

/** More than any model can choose from; a longer list is an error or an attack. */
const maxTools = 1000
/** Maximum wait for a server to acknowledge the end of the session. */
const terminationMs = 2000

export class Session {
  readonly #client: Client
  readonly #options: SessionOptions
  #tools: Promise<readonly ServerTool[]> | undefined
  #toolsUntilMs = 0
  #isClosed = false

  constructor (client: Client, options: SessionOptions) {
    this.#client = client
    this.#options = options
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client is no EventTarget
    client.onclose = () => { this.#isClosed = true }
  }

  /** True once the connection is closed. */
  get closed (): boolean {
    return this.#isClosed
  }

  get serverVersion (): string | undefined {
    return this.#client.getServerVersion()?.version
  }

  /** Listed tools that cannot be offered, by position. */
  get leftOut (): ReadonlySet<string> {
    return this.#options.listing.leftOut
  }

  /** Size of the last list in bytes. */
  get listBytes (): number {
    return this.#options.listing.bytes
  }

  /**
   * Returns the complete tool list; none of a server without the capability, for which the client library
   * would print a line. It is cached until it expires or the server announces a change.
   *
   * @param onRequest called if the list is requested now; returns `_meta` of the request
   */
  async tools (onRequest?: () => RequestMeta | undefined): Promise<readonly ServerTool[]> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return []
    if (this.#tools === undefined || performance.now() > this.#toolsUntilMs) {
      const { listTtlMs, listTimeoutMs, listing: last } = this.#options
      this.#toolsUntilMs = performance.now() + listTtlMs
      last.leftOut.clear()
      last.bytes = 0
      const meta = onRequest?.()
      const listing = this.#client
        .listTools(meta && { _meta: { ...meta } }, { timeout: listTimeoutMs, cacheMode: 'refresh' })
        .then(checkedList)
      this.#tools = listing
      listing.catch(() => { if (this.#tools === listing) this.#tools = undefined })
    }
    return await this.#tools
  }

  forgetTools (): void {
    this.#tools = undefined
  }

  /**
   * Calls a tool.
   *
   * @throws an error of the client library, or the signal's reason
   */
  async call (
    name: string,
    args: Readonly<Record<string, unknown>>,
    { signal, timeoutMs, onProgress, meta }: SessionCall
  ): Promise<CallToolResult> {
    try {
      const request = { name, arguments: { ...args }, ...meta !== undefined && { _meta: { ...meta } } }
      return await this.#client.callTool(request, {
        signal,
        timeout: timeoutMs,
        maxTotalTimeout: timeoutMs, // of all requests, if the server answers that it needs another one
        ...onProgress !== undefined && { onprogress: onProgress }
      })
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    }
  }

  /** Ends the session at the server, and closes sockets, timers and the child process. Never throws. */
  async close (): Promise<void> {
    if (!this.#isClosed) {
      await Promise.race([this.#options.terminate().catch(ignoreFailure), after(terminationMs)])
    }
    this.#isClosed = true
    await this.#client.close().catch(ignoreFailure)
  }
}

function checkedList ({ tools }: { tools: ServerTool[] }): ServerTool[] {
  if (tools.length > maxTools) {
    throw new ToolServerFailure('list', `The tool server lists more than ${maxTools} tools.`)
  }
  return tools
}

/** Ignores a server that has exited or cannot terminate sessions. */
function ignoreFailure (): void {}

async function after (ms: number): Promise<void> {
  await new Promise<void>(resolve => { setTimeout(resolve, ms).unref() })
}
