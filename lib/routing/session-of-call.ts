/**
 * Finds the session that a call belongs to, so that its turns reach the provider that has their prompt in its
 * cache: what is drawn for a session is the same in every process and after a restart.
 */

import { hash } from 'node:crypto'
import type { ChatInput } from '../chat/input.ts'
import type { CallSession } from '../core/call-session.ts'
import type { ValidCall } from '../core/call.ts'
import type { CallRecord } from '../core/record.ts'

/** A longer key is no session. */
const maxLength = 255

type SessionCall = Pick<ValidCall<ChatInput>, 'request' | 'key'> & {
  readonly record: Pick<CallRecord, 'session'>
}

/**
 * Returns the session of a call, which draws by a hash of the session and the name of the candidate. With
 * weights this is rendezvous hashing: sessions are shared out by the weights, and a candidate that leaves
 * moves only its own sessions.
 */
export function sessionOfCall (call: SessionCall, random: () => number = Math.random): CallSession {
  const id = sessionId(call)
  return { id, draw: name => id === undefined ? random() : fractionOf(`${id}\n${name}`) }
}

/** Returns the session as the caller names it, else as its conversation began. */
function sessionId ({ request, key, record }: SessionCall): string | undefined {
  const name = record.session ?? request.prompt_cache_key ?? beginningOf(request)
  return name === undefined || name.length > maxLength ? undefined : `${key.id}\n${name}`
}

/** Identifies a conversation by its first system prompt and the first message of its user. */
function beginningOf ({ messages }: ChatInput): string | undefined {
  const system = messages.find(({ role }) => role === 'system' || role === 'developer')
  const user = messages.find(({ role }) => role === 'user')
  return user && hash('sha256', JSON.stringify([system?.content, user.content]), 'base64')
}

const bits = 48

function fractionOf (text: string): number {
  return Number.parseInt(hash('sha256', text).slice(0, bits / 4), 16) / 2 ** bits
}
