/**
 * Tools that run on tool servers (MCP) on behalf of a call.
 *
 * ```ts
 * const servers = createToolServers(settings)
 * const open = await servers.open({ request, keyId, taken: new Set(), signal })
 * open.tools                                        // what to offer to the model
 * await open.call('echo', { message: 'hi' }, { signal })
 * ```
 */

import { Agent } from 'undici'
import { deadline } from '../async/deadline.ts'
import { createGuardedAgent } from './guarded-fetch.ts'
import { abortable } from '../async/abortable.ts'
import { createConnect } from './connect.ts'
import { asFailure, timedOut, type Phase } from './failure.ts'
import { createRegistry } from './registry.ts'
import { createResolve, type Resolve } from './resolve.ts'
import { SessionPool } from './session-pool.ts'
import { nameTools } from './tool-names.ts'
import { cutText, readResult, reportedResult } from './tool-result.ts'
import { requestedServers } from './requested-servers.ts'
import type { FunctionTool } from '../../schemas/tools.ts'
import type { ChatInput } from '../chat/input.ts'
import type { ToolResult, ToolServerError } from '../core/events.ts'
import type { Settings, ToolSettings } from '../core/settings.ts'
import type { CallToolResult, Progress, ServerTool } from './session.ts'
import type { ToolServerTarget } from './tool-server-target.ts'

export interface ToolServers {
  /**
   * Finds, connects and lists the servers of a request, all at once and under one deadline. What
   * fails is in `errors`; it never rejects but with the signal's reason.
   */
  readonly open: (options: OpenOptions) => Promise<OpenTools>
  /** Ends every session and child process. */
  readonly close: () => Promise<void>
}

export interface OpenOptions {
  readonly request: Pick<ChatInput, 'mcp_servers' | 'credentials'>
  /** The gateway key of the caller: sessions with its credentials are for it alone. */
  readonly keyId: string
  /** Names of the caller's own functions. */
  readonly taken: ReadonlySet<string>
  readonly signal: AbortSignal
}

export interface OfferedTool {
  /** Under which the model knows it. */
  readonly name: string
  readonly serverName: string
  /** As its server describes it; its annotations are hints and nothing is decided by them. */
  readonly tool: ServerTool
}

export interface OpenTools {
  readonly offered: readonly OfferedTool[]
  /** The same as the model is told of them. */
  readonly tools: readonly FunctionTool[]
  /** Servers that could not help, by name. */
  readonly errors: Readonly<Record<string, ToolServerError>>
  /** Runs a tool by the name it was offered under. Rejects with the signal's reason only. */
  readonly call: (name: string, args: Arguments, options: ToolCallOptions) => Promise<ToolOutcome>
}

export type Arguments = Readonly<Record<string, unknown>>

export interface ToolCallOptions {
  readonly signal: AbortSignal
  readonly onProgress?: (progress: Progress) => void
  /** True when the model can be shown pictures; else they are only named in the text. */
  readonly seesImages?: boolean
}

export interface ToolOutcome {
  /** For the model: the content of a tool message. */
  readonly text: string
  /** For the model too: data URLs of the pictures that the text refers to. */
  readonly images?: readonly string[]
  /** For the caller, under the tool's own name. */
  readonly result: ToolResult
  /** Set when it was the server that failed, not the tool. */
  readonly failure?: ToolServerError
}

/** Bytes of one message or page of a tool server, at the least; results are cut later. */
const minAnswerBytes = 16 * 1024 * 1024

type ToolServersSettings = Pick<Settings, 'toolServers'> & { readonly tools: ToolSettings }

/** Nothing is connected, loaded or started before the first call that names a server. */
export function createToolServers (settings: ToolServersSettings): ToolServers {
  const { tools } = settings
  const checkedAgent = createGuardedAgent({ allowed: tools.allowedHosts, connectMs: tools.connectMs })
  const openAgent = new Agent({ bodyTimeout: 0, connect: { timeout: tools.connectMs } })
  const pool = new SessionPool({
    connect: createConnect({
      checkedAgent,
      openAgent,
      maxBytes: Math.max(minAnswerBytes, 4 * tools.resultBytes),
      timeoutMs: tools.connectMs,
      listTtlMs: tools.listTtlMs
    }),
    idleMs: tools.sessionIdleMs,
    capacity: tools.sessions
  })
  const registry = tools.registryUrl === undefined ? undefined : createRegistry(tools.registryUrl, openAgent)
  const resolve = createResolve(settings.toolServers, registry)
  return {
    open: async options => await openTools(options, tools, resolve, pool),
    close: async () => {
      await pool.close()
      await Promise.all([checkedAgent.destroy(), openAgent.destroy()])
    }
  }
}

interface ListedTool {
  readonly target: ToolServerTarget
  readonly tool: ServerTool
}

async function openTools (
  { request, keyId, taken, signal }: OpenOptions, settings: ToolSettings, resolve: Resolve, pool: SessionPool
): Promise<OpenTools> {
  const errors: Record<string, ToolServerError> = {}
  const timeUp = deadline(settings.connectMs, signal, undefined)
  const listed = await Promise.all(requestedServers(request).map(async wanted => {
    let phase: Phase = 'resolve'
    try {
      const target = await abortable(resolve(wanted, keyId, timeUp.signal), timeUp.signal)
      phase = 'connect'
      const tools = await pool.use(target, timeUp.signal, async session => {
        phase = 'list'
        return await session.tools()
      })
      return offerable(target, tools)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      errors[wanted.name] = (timeUp.passed() ? timedOut(phase, error) : asFailure(error, phase)).toError()
      return []
    }
  })).finally(timeUp.end)

  const named = nameTools(listed.flat().map(value => ({
    server: value.target.name, tool: value.tool.name, value
  })), taken)
  return {
    offered: [...named].map(([name, { target, tool }]) => ({ name, serverName: target.name, tool })),
    tools: [...named].map(([name, { tool }]) => toFunctionTool(name, tool)),
    errors,
    call: async (name, args, options) => await callTool(named.get(name), name, args, options, settings, pool)
  }
}

/** What may be offered, each name once: servers are known to repeat themselves. */
function offerable (target: ToolServerTarget, tools: readonly ServerTool[]): ListedTool[] {
  const byName = new Map<string, ListedTool>()
  for (const tool of tools) {
    const allowed = target.allowedTools?.has(tool.name) ?? true
    if (allowed && !byName.has(tool.name)) byName.set(tool.name, { target, tool })
  }
  return [...byName.values()]
}

function toFunctionTool (name: string, { description, inputSchema }: ServerTool): FunctionTool {
  return {
    type: 'function',
    function: { name, ...(description === undefined ? {} : { description }), parameters: inputSchema }
  }
}

async function callTool (
  listed: ListedTool | undefined, name: string, args: Arguments,
  { signal, onProgress, seesImages = false }: ToolCallOptions, settings: ToolSettings, pool: SessionPool
): Promise<ToolOutcome> {
  if (listed === undefined) return failed({ toolName: name, serverName: '', arguments: args }, 'There is no such tool.')
  const { target, tool } = listed
  const { resultBytes } = settings
  const call = { toolName: tool.name, serverName: target.name, arguments: args }
  const startedMs = performance.now()
  const duration = (): { durationMs: number } => ({ durationMs: Math.round(performance.now() - startedMs) })
  try {
    const result = await pool.use(target, signal, async session => await session.call(tool.name, args, {
      signal, timeoutMs: target.timeoutMs ?? settings.callMs, ...(onProgress === undefined ? {} : { onProgress })
    }))
    return succeeded({ ...call, ...duration() }, result, resultBytes, seesImages)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    // The server is there and said no, in words that help the model to do better.
    if (isRefusal(error)) return failed({ ...call, ...duration() }, cutText(error.message, resultBytes))
    const failure = asFailure(error, 'call')
    return { ...failed({ ...call, ...duration() }, failure.message), failure: failure.toError() }
  }
}

type CallFacts = Pick<ToolResult, 'toolName' | 'serverName' | 'arguments' | 'durationMs'>

function succeeded (call: CallFacts, result: CallToolResult, maxBytes: number, seesImages: boolean): ToolOutcome {
  const { text, images } = readResult(result, maxBytes, seesImages)
  return {
    text, images, result: { ...call, isError: result.isError === true, result: reportedResult(result, text, maxBytes) }
  }
}

function failed (call: CallFacts, message: string): ToolOutcome {
  return { text: `The tool call failed: ${message}`, result: { ...call, isError: true, result: message } }
}

/** A JSON-RPC error: its code is a negative number. */
function isRefusal (error: unknown): error is Error {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && error.code < 0
}
