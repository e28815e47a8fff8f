import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { GatewayError } from '../../core/errors.ts'
import { ResponseReader } from './response-reader.ts'
import { inBandError } from './errors.ts'
import { objectOf } from '../../json/guards.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Ask } from '../provider.ts'

/**
 * A whole answer as events: `response-start` first, `choice-end` per candidate, `usage` last. A
 * refused prompt is one choice that the content filter ended.
 *
 * @throws GatewayError for a body that holds an error, and `upstream_invalid_response` for one
 *   that holds neither candidates nor a refusal
 */
export function readResponse (body: unknown, ask: Ask<ChatInput>): ChatEvent[] {
  const wire = objectOf(Array.isArray(body) ? body[0] : body)
  if (wire === undefined) throw new GatewayError('upstream_invalid_response', { cause: typeof body })
  const error = inBandError(wire)
  if (error !== undefined) throw error
  const answer = new ResponseReader(offersFunctionsOnly(ask.request))
  const events: ChatEvent[] = []
  answer.read(wire, events)
  if (!answer.any) throw new GatewayError('upstream_invalid_response', { cause: 'no candidates' })
  answer.end(events)
  return events
}
