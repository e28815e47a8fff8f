/** Decides what an error says about the session with a tool server. */

import { property } from '../json/type-guards.ts'
import { causes, gaveNoAnswer, httpStatus, isJsonRpcError, isNetworkError } from './error-causes.ts'

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
