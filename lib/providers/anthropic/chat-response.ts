import { GatewayError } from '../../core/errors.ts'
import { objectOf } from '../../json/guards.ts'
import { ResponseReader } from './response-reader.ts'
import { inBandError } from './errors.ts'
import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Ask } from '../provider.ts'
import type { WireAnswer } from './wire.ts'

/**
 * A whole answer as events: `response-start` first, `usage` last.
 *
 * @throws GatewayError for a body that is an error, and `upstream_invalid_response` for one
 *   without content
 */
export function readResponse (body: unknown, { request }: Ask<ChatInput>): ChatEvent[] {
  const whole: WireAnswer = objectOf(body) ?? {}
  if (whole.type === 'error') throw inBandError(whole)
  if (!Array.isArray(whole.content)) throw new GatewayError('upstream_invalid_response', { cause: 'no content' })
  const answer = new ResponseReader(offersFunctionsOnly(request))
  const events: ChatEvent[] = []
  answer.start(whole, events)
  for (const [index, block] of whole.content.entries()) {
    answer.startBlock(index, objectOf(block) ?? {}, events)
    answer.endBlock(index, events)
  }
  answer.finish(whole, events)
  answer.end(events)
  return events
}
