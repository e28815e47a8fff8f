import { contentOf, withReportedUsage } from '../json-api.ts'
import { ProviderFailure, invalidResponse } from '../provider-failure.ts'
import { isContainer, nonEmptyText, objectOf } from '../../json/type-guards.ts'
import { ResponseReader } from './response-reader.ts'
import { errorIn } from './errors.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterInput } from '../provider.ts'
import type { WireAnswer } from './wire.ts'

/**
 * Reads a complete response into events: `answer-start` first, `usage` last.
 *
 * @throws ProviderFailure if the body is an error
 * @throws GatewayError `upstream_invalid_response` without content
 */
export function readResponse (body: unknown, { request }: AdapterInput<ChatInput>): ChatEvent[] {
  const wire: WireAnswer = objectOf(body) ?? {}
  const failure = errorIn(wire)
  if (failure !== undefined) throw new ProviderFailure(failure)
  if (!isContainer(wire.content) && nonEmptyText(wire.content) === undefined) {
    throw invalidResponse('the response has no content')
  }
  const reader = new ResponseReader(request)
  const events: ChatEvent[] = []
  reader.start(wire, false, events)
  return withReportedUsage(() => reader.usage.total(), () => {
    for (const [index, block] of contentOf(wire.content, 'the content').entries()) {
      reader.startBlock(index, block, events)
      reader.endBlock(index, events)
    }
    reader.finish(wire, events)
    reader.end(events)
    return events
  })
}
