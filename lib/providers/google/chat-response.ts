import { withReportedUsage } from '../json-api.ts'
import { ProviderFailure, invalidResponse } from '../provider-failure.ts'
import { ResponseReader } from './response-reader.ts'
import { inBandError } from './errors.ts'
import { objectOf } from '../../json/type-guards.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterInput } from '../provider.ts'

/**
 * Reads a complete response into events: `answer-start` first, `choice-end` per candidate, `usage` last. A
 * blocked prompt gives one choice that ends with `content_filter`.
 *
 * @throws ProviderFailure for an error in the body
 * @throws GatewayError `upstream_invalid_response`, with the usage, without candidates and block reason
 */
export function readResponse (body: unknown, input: AdapterInput<ChatInput>): ChatEvent[] {
  const wire = objectOf(Array.isArray(body) ? body[0] : body)
  if (wire === undefined) throw invalidResponse(typeof body)
  const failure = inBandError(wire)
  if (failure !== undefined) throw new ProviderFailure(failure)
  const reader = new ResponseReader(input.request)
  const events: ChatEvent[] = []
  return withReportedUsage(() => reader.usageSoFar, () => {
    reader.read(wire, events)
    if (!reader.hasCandidate) throw invalidResponse('the response has no candidates')
    if (reader.hasHollowCandidate) throw invalidResponse('a candidate is empty')
    reader.end(events)
    return events
  })
}
