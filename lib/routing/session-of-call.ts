/**
 * Finds the session of a call, so that its turns reach the provider that has their prompt cached. Draws for a
 * session are the same in every process and after a restart.
 */

import { hash } from 'node:crypto'
import type { ChatInput } from '../chat/input.ts'
import type { CallSession, ValidCall } from '../core/call.ts'
import type { CallerFacts } from '../core/record.ts'

/** A longer key is ignored. */
const maxLength = 255

type SessionCall = Pick<ValidCall<ChatInput>, 'request' | 'key'> & {
  readonly record: { readonly caller: Pick<CallerFacts, 'session'> }
}

/**
 * Returns the session of a call, which draws by hashing the session with the candidate's name. With weights
 * this is rendezvous hashing: sessions are distributed by weight, and removing a candidate moves only its own
 * sessions.
 */
export function sessionOfCall (call: SessionCall, random: () => number = Math.random): CallSession {
  const id = sessionId(call)
  return { id, draw: name => id === undefined ? random() : fractionOf(`${id}\n${name}`) }
}

/** Returns the session named by the caller, else one derived from the start of the conversation. */
function sessionId ({ request, key, record }: SessionCall): string | undefined {
  const name = record.caller.session ?? request.prompt_cache_key ?? beginningOf(request)
  return name === undefined || name.length > maxLength ? undefined : `${key.id}\n${name}`
}

/** Identifies a conversation by its first system prompt and first user message. */
function beginningOf ({ messages }: ChatInput): string | undefined {
  const system = messages.find(({ role }) => role === 'system' || role === 'developer')
  const user = messages.find(({ role }) => role === 'user')
  return user && hash('sha256', JSON.stringify([system?.content, user.content]), 'base64')
}

const bits = 48

function fractionOf (text: string): number {
  return Number.parseInt(hash('sha256', text).slice(0, bits / 4), 16) / 2 ** bits
}
