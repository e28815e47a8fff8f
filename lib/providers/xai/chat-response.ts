import { readResponse as readDialectResponse } from '../chat-completions/chat-response.ts'
import { ProviderFailure } from '../provider-failure.ts'
import { flatError } from './errors.ts'
import { inclusiveUsage } from './usage.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { AdapterInput } from '../provider.ts'

/**
 * Reads a complete response into events: the dialect's, with a usage that counts reasoning as part
 * of the completion.
 *
 * @throws ProviderFailure for a flat error under status 200, and what the dialect throws
 */
export function readResponse (body: unknown, input: AdapterInput<ChatInput>): ChatEvent[] {
  const failure = flatError(body)
  if (failure !== undefined) throw new ProviderFailure(failure)
  return readDialectResponse(body, input).map(inclusiveUsage)
}
