/** Reads complete responses. */

import { callIdsIn } from '../../chat/call-ids.ts'
import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { isContainer, objectOf } from '../../json/type-guards.ts'
import { partsOf, withReportedUsage } from '../json-api.ts'
import { invalidResponse } from '../provider-failure.ts'
import { failedResponse } from './errors.ts'
import { ResponseReader, labelAccount } from './response-reader.ts'
import { responseUsage } from './usage.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterInput } from '../provider.ts'
import type { WireResponse } from './wire.ts'

/**
 * Reads a complete response into events: `answer-start` first, `usage` last.
 *
 * @throws ProviderFailure for a failed response
 * @throws GatewayError `upstream_invalid_response` without output
 */
export function readResponse (body: unknown, input: AdapterInput<ChatInput>): ChatEvent[] {
  const { request } = input
  const response = checkedResponse(body)
  const reader = new ResponseReader(offersFunctionsOnly(request), callIdsIn(request), labelAccount(input))
  const events: ChatEvent[] = []
  return withReportedUsage(() => responseUsage(response), () => {
    reader.start(response, events)
    reader.finish(response, events)
    reader.end(events)
    return events
  })
}

/** Returns the response unless it failed. */
export function checkedResponse (body: unknown): WireResponse & { readonly output: readonly unknown[] } {
  const response: WireResponse = objectOf(body) ?? {}
  const { error, status, output } = response
  if (status === 'failed' || status === 'cancelled' || (error !== undefined && error !== null)) {
    throw failedResponse(error, response)
  }
  return withReportedUsage(() => responseUsage(response), () => {
    if (!isContainer(output)) throw invalidResponse('the response has no output')
    return { ...response, output: partsOf(output, 'the output') }
  })
}
