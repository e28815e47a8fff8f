/**
 * Runs tools of tool servers on behalf of a call.
 *
 * ```ts
 * const servers = createToolServers(settings)
 * const open = await servers.open({ request, key, reservedNames: new Set(), signal })
 * open.tools                                        // what to offer to the model
 * await open.call('echo', { message: 'hi' }, { signal })
 * ```
 */

import { getHeapStatistics } from 'node:v8'
import { startDeadline } from '../async/start-deadline.ts'
import { createAgents } from './agents.ts'
import { abortable } from '../async/cancellation.ts'
import { createConnect, loadClient, type Connect } from './connect.ts'
import { isJsonRpcError } from './error-causes.ts'
import { asFailure, timedOut, ToolServerFailure, type Phase } from './failure.ts'
import { unbounded } from './guarded-fetch.ts'
import { Registry } from './registry.ts'
import { createResolve, type Resolve } from './resolve.ts'
import { SessionPool } from './session-pool.ts'
import { nameTools } from '../chat/tool-names.ts'
import { checkServers, type ToolScope } from './tool-scope.ts'
import { cutText, readResult } from './tool-result.ts'
import { requestedServers } from '../chat/requested-servers.ts'
import type { FunctionTool } from '../../schemas/tools.ts'
import type { ChatInput } from '../chat/input.ts'
import type { ToolResult, ToolServerError } from '../core/events.ts'
import type { Settings, ToolSettings } from '../core/settings.ts'
import type { CallTrace, ChildSpan } from '../core/call-trace.ts'
import type { HoldMemory } from '../core/held-memory.ts'
import type { ToolListing } from '../core/record.ts'
import type { CallToolResult, Progress, RequestMeta, ServerTool } from './session.ts'
import type { ToolServerTarget } from './tool-server-target.ts'

export interface ToolServers {
  /** Loads what the first session needs, if the operator has configured servers. */
  readonly warmUp: () => Promise<void>
  /**
   * Resolves, connects and lists the servers of a request concurrently, within one deadline. Failures are in
   * `errors`. Rejects with the signal's reason, or before connecting with GatewayError
   * `insufficient_permissions` for a server the key may not use.
   */
  readonly open: (options: OpenOptions) => Promise<OpenTools>
  /** Ends all sessions and child processes. */
  readonly close: () => Promise<void>
}

export interface OpenOptions {
  readonly request: Pick<ChatInput, 'mcp_servers' | 'credentials'>
  /** The caller's gateway key, which determines permissions and owns sessions. */
  readonly key: ToolScope
  /** Names of the caller's own functions. */
  readonly reservedNames: ReadonlySet<string>
  readonly signal: AbortSignal
  readonly trace?: CallTrace | undefined
  /** Called for each server after its tools were listed, or could not be. */
  readonly onListing?: (listing: ToolListing) => void
}

export interface OfferedTool {
  /** The name for the model. */
  readonly name: string
  readonly serverName: string
  /** The server's description; its annotations are hints and are never relied on. */
  readonly tool: ServerTool
}

export interface OpenTools {
  readonly offered: readonly OfferedTool[]
  /** The same, by the name for the model. */
  readonly byName: ReadonlyMap<string, OfferedTool>
  /** The same tools in the format for the model. */
  readonly tools: readonly FunctionTool[]
  /** Size of the raw tool lists. */
  readonly listBytes: number
  /** Servers that failed, by name. */
  readonly errors: Readonly<Record<string, ToolServerError>>
  /** Runs a tool by its offered name. Rejects only with the signal's reason. */
  readonly call: (name: string, args: Arguments, options: ToolCallOptions) => Promise<ToolOutcome>
}

export type Arguments = Readonly<Record<string, unknown>>

export interface ToolCallOptions {
  readonly signal: AbortSignal
  readonly onProgress?: (progress: Progress) => void
  /** True if the model has vision; otherwise images are only mentioned in the text. */
  readonly seesImages?: boolean
  /** The span of the tool call. */
  readonly span?: ChildSpan | undefined
}

export interface ToolOutcome {
  /** For the model: the content of a tool message. */
  readonly text: string
  /** For the model: data URLs of the images that the text refers to. */
  readonly images?: readonly string[]
  /** For the caller, under the tool's own name. */
  readonly result: ToolResult
  /** Set if the server failed, rather than the tool. */
  readonly failure?: ToolServerError
}

/**
 * Minimum size limit, in bytes, for a message and for all pages of a tool list; results are truncated later.
 */
const minAnswerBytes = 16 * 1024 * 1024

type ToolServersSettings = Pick<Settings, 'toolServers'> & { readonly tools: ToolSettings }

/**
 * Creates the service. It connects to nothing until a call names a server.
 *
 * @param holdMemory reserves memory for incoming answers. Default: unlimited
 */
export function createToolServers (
  settings: ToolServersSettings,
  holdMemory: HoldMemory = () => unbounded
): ToolServers {
  const { tools } = settings
  const agents = createAgents(tools)
  const pools = createPools(
    tools,
    createConnect({
      agents,
      maxBytes: Math.max(minAnswerBytes, 4 * tools.resultBytes),
      holdMemory,
      timeoutMs: tools.connectMs,
      listTtlMs: tools.listTtlMs
    })
  )
  const registry =
    tools.registryUrl === undefined ? undefined : new Registry(tools.registryUrl, agents.open)
  const resolve = createResolve(settings.toolServers, registry)
  return {
    warmUp: async () => {
      if (settings.toolServers.length > 0) await loadClient()
    },
    open: async options => await openTools(options, tools, resolve, pools),
    close: async () => {
      await Promise.all([pools.command.close(), pools.remote.close()])
      await agents.destroy()
    }
  }
}

interface Pools {
  /** Child processes have a separate pool, so that sessions of callers never displace them. */
  readonly command: SessionPool
  readonly remote: SessionPool
}

/** A list is in memory four times: raw, parsed by the client library, as offered, and as read. */
const maxListShare = 16

/** Allows all servers of one call, however small the pool is. */
const minSessionsPerKey = 32

function createPools (
  { sessionIdleMs: idleMs, maxSessions: capacity }: ToolSettings,
  connect: Connect
): Pools {
  const maxPerKey = Math.max(minSessionsPerKey, Math.floor(capacity / 4))
  const maxListBytes = Math.floor(getHeapStatistics().heap_size_limit / maxListShare)
  const pool = (): SessionPool => new SessionPool({ connect, idleMs, capacity, maxPerKey, maxListBytes })
  return { command: pool(), remote: pool() }
}

interface ListedTool {
  readonly target: ToolServerTarget
  readonly tool: ServerTool
}

async function openTools (
  { request, key, reservedNames, signal, trace, onListing }: OpenOptions,
  settings: ToolSettings,
  resolve: Resolve,
  pools: Pools
): Promise<OpenTools> {
  const servers = requestedServers(request)
  checkServers(servers, key)
  const errors = noErrors()
  let listBytes = 0
  const timeout = startDeadline(settings.connectMs, signal)
  const listed = await Promise.all(servers.map(async requested => {
    let phase: Phase = 'resolve'
    const startedAtMs = performance.now()
    const span = trace?.child()
    let isRequested = false
    const noteListing = (outcome: ToolListing['outcome']): void =>
      onListing?.({ serverName: requested.name, startedAtMs, endedAtMs: performance.now(), outcome, span })
    try {
      const target = await abortable(resolve(requested, key.id, timeout.signal), timeout.signal)
      phase = 'connect'
      const tools = await pools[target.connection.kind].use(target, timeout.signal, async session => {
        checkVersion(target, session.serverVersion)
        phase = 'list'
        const tools = await session.tools(() => {
          isRequested = true
          return metaOf(target, span)
        })
        listBytes += session.listBytes
        if (session.leftOut.size > 0) errors[requested.name] = leftOutError(session.leftOut)
        return tools
      })
      if (isRequested) noteListing('ok')
      return offerable(target, tools)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      const failure = timeout.passed() ? timedOut(phase, error) : asFailure(error, phase)
      errors[requested.name] = failure.toError()
      noteListing(`${failure.phase}_failed`)
      return []
    }
  })).finally(timeout.end)

  const named = nameTools(
    listed.flat().map(value => ({
      server: value.target.name,
      tool: value.tool.name,
      value
    })),
    reservedNames
  )
  const offered = [...named].map(([name, { target, tool }]): OfferedTool => ({
    name,
    serverName: target.name,
    tool
  }))
  return {
    offered,
    byName: new Map(offered.map(tool => [tool.name, tool])),
    tools: [...named].map(([name, { tool }]) => toFunctionTool(name, tool)),
    listBytes,
    errors: { ...errors },
    call: async (name, args, options) => await callTool(named.get(name), name, args, options, settings, pools)
  }
}

/** Returns `_meta` of a request; `undefined` if the server gets no trace headers. */
function metaOf (
  { propagate = 'none' }: ToolServerTarget,
  span: ChildSpan | undefined
): RequestMeta | undefined {
  return propagate === 'none' ? undefined : span?.headers(propagate)
}

/** Returns an object for errors by the names of servers, for any name. */
export function noErrors (): Record<string, ToolServerError> {
  return Object.create(null) as Record<string, ToolServerError> // its prototype could not be replaced
}

/** Reports tools that are not offered; the others are. */
function leftOutError (names: ReadonlySet<string>): ToolServerError {
  return new ToolServerFailure(
    'list',
    `These tools of the server have no name, or an invalid \`x-mcp-header\`, and were skipped: ${[...names].slice(0, 10).join(', ')}.`,
    {
      recommendation: 'Use the other tools, or ask the operator of the server to correct these.'
    }
  ).toError()
}

/**
 * Compares the requested version with the reported one; `1.2` accepts `1.2.3`.
 *
 * @throws ToolServerFailure of phase `resolve`
 */
function checkVersion ({ name, version }: ToolServerTarget, reported: string | undefined): void {
  if (version === undefined || reported === version || reported?.startsWith(`${version}.`) === true) return
  throw new ToolServerFailure('resolve', `The tool server \`${name}\` is not available in version ${version}.`, {
    recommendation:
      reported === undefined ? 'Leave out the version.' : `Leave out the version, or send ${reported}.`
  })
}

/**
 * Selects the tools to offer, each name once, because some servers list tools repeatedly. Tools that only run
 * as tasks are skipped, because calls wait for their result.
 */
function offerable (target: ToolServerTarget, tools: readonly ServerTool[]): ListedTool[] {
  const byName = new Map<string, ListedTool>()
  for (const tool of tools) {
    const allowed =
      (target.allowedTools?.has(tool.name) ?? true) && tool.execution?.taskSupport !== 'required'
    if (allowed && !byName.has(tool.name)) byName.set(tool.name, { target, tool })
  }
  return [...byName.values()]
}

function toFunctionTool (name: string, { description, inputSchema }: ServerTool): FunctionTool {
  return {
    type: 'function',
    function: { name, ...description !== undefined && { description }, parameters: inputSchema }
  }
}

async function callTool (
  listed: ListedTool | undefined, name: string, args: Arguments,
  { signal, onProgress, seesImages = false, span }: ToolCallOptions, settings: ToolSettings, pools: Pools
): Promise<ToolOutcome> {
  if (listed === undefined) {
    return failed({ toolName: name, serverName: '', arguments: args }, `Unknown tool \`${name}\`.`)
  }
  const { target, tool } = listed
  const { resultBytes } = settings
  const call = { toolName: tool.name, serverName: target.name, arguments: args }
  const startedMs = performance.now()
  const duration = (): { durationMs: number } => ({ durationMs: Math.round(performance.now() - startedMs) })
  try {
    const result = await pools[target.connection.kind].use(
      target,
      signal,
      async session =>
        await session.call(tool.name, args, {
          signal,
          timeoutMs: target.timeoutMs ?? settings.callMs,
          meta: metaOf(target, span),
          ...onProgress !== undefined && { onProgress }
        })
    )
    return succeeded({ ...call, ...duration() }, result, resultBytes, seesImages)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    // The server rejected the call; its message helps the model to correct it.
    if (isJsonRpcError(error)) return failed({ ...call, ...duration() }, cutText(error.message, resultBytes))
    const failure = asFailure(error, 'call')
    return { ...failed({ ...call, ...duration() }, failure.message), failure: failure.toError() }
  }
}

type CallFacts = Pick<ToolResult, 'toolName' | 'serverName' | 'arguments' | 'durationMs'>

function succeeded (
  call: CallFacts,
  result: CallToolResult,
  maxBytes: number,
  seesImages: boolean
): ToolOutcome {
  const { text, images, reported } = readResult(result, maxBytes, seesImages)
  return { text, images, result: { ...call, isError: result.isError === true, result: reported } }
}

function failed (call: CallFacts, message: string): ToolOutcome {
  return { text: `The tool call failed: ${message}`, result: { ...call, isError: true, result: message } }
}
