import { asFunctionCall, offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { GatewayError } from '../../core/errors.ts'
import { ResponseReader } from './response-reader.ts'
import { inBandError } from './errors.ts'
import { objectOf } from '../../json/guards.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Ask } from '../provider.ts'

/**
 * A whole answer as events: `response-start` first, `usage` last.
 *
 * @throws GatewayError for a body that holds an error (some servers put it under status 200), and
 *   `upstream_invalid_response` for one without choices
 */
export function readResponse (body: unknown, { request }: Ask<ChatInput>): ChatEvent[] {
  const whole = objectOf(body) ?? (Array.isArray(body) ? objectOf(body[0]) : undefined)
  if (whole === undefined) throw new GatewayError('upstream_invalid_response', { cause: typeof body })
  const error = inBandError(whole, false)
  if (error !== undefined) throw error
  if (!Array.isArray(whole['choices'])) throw new GatewayError('upstream_invalid_response', { cause: 'no choices' })
  const answer = new ResponseReader()
  const events: ChatEvent[] = []
  answer.read(whole, events)
  if (!answer.anyChoice) throw new GatewayError('upstream_invalid_response', { cause: 'no choices' })
  answer.end(events)
  return offersFunctionsOnly(request) ? asFunctionCall(events) : events
}
