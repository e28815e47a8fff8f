import { readResponse as readDialectResponse } from '../chat-completions/chat-response.ts'
import { ProviderFailure, usageOfError, withUsage } from '../provider-failure.ts'
import { flatError } from './errors.ts'
import { inclusiveUsage, withInclusiveUsage } from './usage.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { AdapterInput } from '../provider.ts'

/**
 * Reads a complete response into events like the dialect; completion tokens include reasoning.
 *
 * @throws ProviderFailure for a flat error with status 200, and what the dialect throws
 */
export function readResponse (body: unknown, input: AdapterInput<ChatInput>): ChatEvent[] {
  const failure = flatError(body)
  if (failure !== undefined) throw new ProviderFailure(failure)
  try {
    return readDialectResponse(body, input).map(withInclusiveUsage)
  } catch (error) {
    const usage = usageOfError(error)
    throw usage === undefined ? error : withUsage(error, inclusiveUsage(usage))
  }
}
