import { asFunctionCall, offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { objectOf } from '../../json/type-guards.ts'
import { partsOf, withReportedUsage } from '../json-api.ts'
import { ProviderFailure, invalidResponse } from '../provider-failure.ts'
import { inBandError } from './errors.ts'
import { finishReasonOf } from './finish-reason.ts'
import { ResponseReader } from './response-reader.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterInput } from '../provider.ts'
import type { WireChoice } from './wire.ts'

/**
 * Reads a complete response into events: `answer-start` first, `usage` last.
 *
 * @throws ProviderFailure for an error in the body: some servers send one with status 200
 * @throws GatewayError `upstream_invalid_response`, with the usage, if there are no choices
 */
export function readResponse (body: unknown, { request }: AdapterInput<ChatInput>): ChatEvent[] {
  const wire = objectOf(Array.isArray(body) ? body[0] : body)
  if (wire === undefined) throw invalidResponse(typeof body)
  const failure = inBandError(wire, false)
  if (failure !== undefined) throw new ProviderFailure(failure)
  const reader = new ResponseReader(request)
  const events: ChatEvent[] = []
  return withReportedUsage(() => reader.usage, () => {
    reader.read(wire, events)
    if (!reader.hasChoice) throw invalidResponse('the response has no choices')
    if (partsOf(wire['choices'], 'the list of choices').some(isEmptyChoice)) {
      throw invalidResponse('a choice has no message')
    }
    reader.end(events)
    return offersFunctionsOnly(request) ? asFunctionCall(events) : events
  })
}

/** Returns true for an empty choice that does not report truncation or filtering. */
function isEmptyChoice ({ message, delta, text, finish_reason: reason }: WireChoice): boolean {
  return (
    [message, delta, text].every(value => value === undefined || value === null) &&
    (finishReasonOf(reason) ?? 'stop') === 'stop'
  )
}
