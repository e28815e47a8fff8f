import { createHash } from 'node:crypto'
import type { ChatInput } from '../../chat/input.ts'
import type { MessagesRequest } from '../../../schemas/messages-request.ts'
import type { MessagesContext } from './input.ts'

/**
 * Returns the fields that say which prompts share a cache, and whose they are. Both are hashes: the
 * caller's own text names devices and accounts, and may be longer than OpenAI's 64 characters.
 */
export function callerFields (
  { request, keyId }: Pick<MessagesContext, 'request' | 'keyId'>
): Pick<ChatInput, 'prompt_cache_key' | 'safety_identifier'> {
  const userId = (request as Partial<MessagesRequest>).metadata?.user_id ?? '' // absent from a count
  return {
    prompt_cache_key: hash(JSON.stringify([keyId, request.system ?? ''])),
    ...userId !== '' && { safety_identifier: hash(userId) }
  }
}

function hash (text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
