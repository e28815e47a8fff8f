import { createHash } from 'node:crypto'
import type { ChatInput } from '../../chat/input.ts'
import type { MessagesRequest } from '../../../schemas/messages-request.ts'
import type { MessagesContext } from './input.ts'

/**
 * Returns the fields for prompt caching and user identity, hashed: the caller's text names devices and
 * accounts, and may exceed OpenAI's 64 characters.
 */
export function callerFields (
  { request, keyId }: Pick<MessagesContext, 'request' | 'keyId'>
): Pick<ChatInput, 'prompt_cache_key' | 'safety_identifier'> {
  const userId = (request as Partial<MessagesRequest>).metadata?.user_id ?? '' // absent in a token count
  return {
    prompt_cache_key: hash(JSON.stringify([keyId, request.system ?? ''])),
    ...userId !== '' && { safety_identifier: hash(userId) }
  }
}

function hash (text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
