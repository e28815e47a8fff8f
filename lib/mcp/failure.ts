/**
 * Explains failures of tool servers to the caller: the failed step, the reason, and what to do. Messages of
 * servers are never quoted, because they may contain anything.
 */

import { isContainer, property } from '../json/guards.ts'
import { brokenAnswerCode, listTooLargeCode, noAnswerCode, noMemoryCode } from './repair-message.ts'
import { addressRefused, answerTooLarge, portRefused } from './guarded-fetch.ts'
import type { ToolServerError } from '../core/events.ts'

const tryLater = 'Try again later, or remove the server from `mcp_servers`.'

/** Steps to a tool's answer. */
export type Phase = 'resolve' | 'connect' | 'initialize' | 'list' | 'call'

export class ToolServerFailure extends Error {
  readonly phase: Phase
  readonly recommendation: string | undefined

  constructor (phase: Phase, message: string, options: { recommendation?: string, cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ToolServerFailure'
    this.phase = phase
    this.recommendation = options.recommendation
  }

  /** Returns the failure for the caller; `code` is the phase. */
  toError (): ToolServerError {
    const { message, phase, recommendation } = this
    return { message, code: phase, ...recommendation !== undefined && { recommendation } }
  }
}

/** Converts an error to a `ToolServerFailure`; `phase` is the failed step. */
export function asFailure (error: unknown, phase: Phase): ToolServerFailure {
  if (error instanceof ToolServerFailure) return error
  const chain = [...causes(error)]
  const codes = new Set(chain.map(link => property(link, 'code')))
  const status = httpStatus(error)
  if (codes.has(addressRefused)) {
    return new ToolServerFailure('connect', 'The address of the tool server is not public.', {
      recommendation: 'Use a public address, or ask the operator to list the host in `tools.allowed_hosts`.',
      cause: error
    })
  }
  if (status === 401 || status === 403) {
    return new ToolServerFailure(
      phase === 'connect' ? 'initialize' : phase,
      `The tool server refused access (HTTP ${status}).`,
      {
        recommendation:
          'Send credentials in `authorization`, `headers` or `credentials` of its entry in `mcp_servers`.',
        cause: error
      }
    )
  }
  if (status !== undefined) {
    return new ToolServerFailure(phase === 'connect' ? 'initialize' : phase,
      `The tool server responded with HTTP ${status}.`, { recommendation: adviceFor(status), cause: error })
  }
  if (codes.has(answerTooLarge) || codes.has(listTooLargeCode)) {
    return new ToolServerFailure(phase, 'The answer of the tool server is too large.', { cause: error })
  }
  if (codes.has(noMemoryCode)) {
    return new ToolServerFailure(phase, 'The gateway has no memory for the answer of the tool server.', {
      recommendation: 'Try again later, or have the tool return less.',
      cause: error
    })
  }
  if (codes.has(portRefused)) {
    return new ToolServerFailure(
      'connect',
      'The tool server could not be reached: HTTP clients do not connect to its port.',
      {
        recommendation: 'Use another port; see https://fetch.spec.whatwg.org/#port-blocking.',
        cause: error
      }
    )
  }
  if (codes.has('CONNECTION_CLOSED')) {
    return new ToolServerFailure(phase, 'The tool server ended the connection before its answer.', {
      recommendation: tryLater,
      cause: error
    })
  }
  const network = chain.find(isNetworkError)
  if (network !== undefined) {
    return new ToolServerFailure(
      phase,
      `The tool server could not be reached (${String(property(network, 'code'))}).`,
      {
        recommendation: 'Check the address, and that the server is running.',
        cause: error
      }
    )
  }
  if (codes.has('REQUEST_TIMEOUT')) return timedOut(phase, error)
  if (codes.has(noAnswerCode)) {
    return new ToolServerFailure(phase, 'The tool server ended its answer without a result.', {
      recommendation: tryLater,
      cause: error
    })
  }
  if (codes.has(brokenAnswerCode)) {
    return new ToolServerFailure(phase, 'The answer of the tool server was not valid JSON-RPC.', {
      recommendation:
        'Its answers need `jsonrpc: "2.0"`, the `id` of the request, and `result` or `error`, not both.',
      cause: error
    })
  }
  const refusal = chain.find(isJsonRpcError)
  if (refusal !== undefined) {
    return new ToolServerFailure(
      phase,
      `The tool server refused the request (JSON-RPC error ${String(property(refusal, 'code'))}).`,
      {
        recommendation: 'Check the address, the headers and the credentials of its entry in `mcp_servers`.',
        cause: error
      }
    )
  }
  return new ToolServerFailure(phase === 'connect' ? 'initialize' : phase,
    'The tool server did not follow the MCP protocol.', {
      recommendation: 'Check that the address is the MCP endpoint of the server.', cause: error
    })
}

/** Returns the failure of a server that timed out. */
export function timedOut (phase: Phase, cause?: unknown): ToolServerFailure {
  return new ToolServerFailure(phase, 'The tool server did not answer in time.', {
    recommendation: tryLater, cause
  })
}

/**
 * Returns true if the server no longer knows the session: the request had no effect, and a new session helps.
 */
export function sessionExpired (error: unknown): boolean {
  const status = httpStatus(error)
  if (status === 404 || saysSessionIsGone(error)) return true
  // Many servers answer 400 with a message about the session.
  return status === 400 && [...causes(error)].some(link => /session/i.test(String(property(link, 'message'))))
}

/** JSON-RPC codes with which servers report an unknown session; others concern the tool itself. */
const sessionCodes: ReadonlySet<unknown> = new Set([-32000, -32001, -32002, -32600])

/** Messages for an unknown session. A closed or terminated session may have ended during the work. */
const unknownSession =
  /^(?:mcp )?session(?: id)?\b.{0,80}\b(?:not found|unknown|expired|invalid|missing|not exist|not initiali[sz]ed|no longer)/i
const noSession = /^(?:no valid|invalid|unknown|missing) (?:mcp[- ])?session\b/i
const prefix = /^(?:MCP error -?\d+: )?(?:bad request: |error: |not found: )?/i

/** Some servers report it as an ordinary error. A tool's own session error must not cause a retry. */
function saysSessionIsGone (error: unknown): boolean {
  if (!isJsonRpcError(error) || !sessionCodes.has(property(error, 'code'))) return false
  const message = error.message.replace(prefix, '')
  return unknownSession.test(message) || noSession.test(message)
}

/** Returns true if the connection itself failed, not a tool or a caller's timeout. */
export function sessionBroken (error: unknown): boolean {
  return (
    httpStatus(error) !== undefined ||
    saysSessionIsGone(error) ||
    [...causes(error)].some(link => isNetworkError(link) || gaveNoAnswer(link))
  )
}

/**
 * Detects a JSON-RPC error: a regular answer whose code, message and data come from the server and say
 * nothing about the connection. Checked by name, because its class is only loaded with the client library.
 */
export function isJsonRpcError (error: unknown): error is Error {
  const code = property(error, 'code')
  return error instanceof Error && error.name === 'ProtocolError' && !gaveNoAnswer(error) &&
    code !== noMemoryCode && code !== listTooLargeCode
}

/** Returns true if the server's answer ended without a valid result or error. */
function gaveNoAnswer (error: unknown): boolean {
  const code = property(error, 'code')
  return code === noAnswerCode || code === brokenAnswerCode
}

/** Returns the HTTP status in an error of the client library, if any. */
export function httpStatus (error: unknown): number | undefined {
  for (const link of causes(error)) {
    if (isJsonRpcError(link)) continue
    const status = property(link, 'status') ?? property(property(link, 'data'), 'status')
    if (typeof status === 'number') return status
    const code = property(link, 'code') // the older transport stores the status itself
    if (typeof code === 'number' && code >= 400 && code < 600) return code
    const match = /\(HTTP (\d{3})\)/.exec(String(property(link, 'message')))
    if (match !== null) return Number(match[1])
  }
  return undefined
}

const networkCodes = new Set([
  'ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT', 'ENOENT', 'EACCES',
  'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'SELF_SIGNED_CERT_IN_CHAIN', 'CONNECTION_CLOSED'
])

function isNetworkError (link: unknown): boolean {
  return networkCodes.has(String(property(link, 'code')))
}

function adviceFor (status: number): string {
  if (status === 404) return 'Check the address: no tool server answers there.'
  if (status === 429) return 'Try again later: the tool server limits its request rate.'
  return status >= 500 ? tryLater : 'Check the address and the headers of the server.'
}

/** Yields the error and its chain of causes; all errors of an aggregate, but no data of a JSON-RPC error. */
function * causes (error: unknown, depth = 0): Generator {
  if (!isContainer(error) || depth > 8) return
  yield error
  if (isJsonRpcError(error)) return
  if (error instanceof AggregateError) for (const one of error.errors) yield * causes(one, depth + 1)
  yield * causes(property(error, 'cause') ?? property(property(error, 'data'), 'cause'), depth + 1)
}
