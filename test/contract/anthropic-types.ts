/**
 * Checked by the compiler only: we write what the official client accepts, and every field that we read is
 * known to it.
 */

import type Anthropic from '@anthropic-ai/sdk'
import type {
  MessagesRequest, WireAnswer, WireBlock, WireBlockDelta, WireCitation, WireStreamEvent, WireUsage
} from '../../lib/providers/anthropic/wire.ts'

type KeysOfAny<T> = T extends unknown ? keyof T : never
/** Compiles only if every field of ours is a field of one of theirs. */
type Known<Ours, Theirs> = Exclude<keyof Ours, KeysOfAny<Theirs>> extends never ? true : never

export function official (request: MessagesRequest): Anthropic.MessageCreateParams {
  return request
}

export const known: {
  answer: Known<WireAnswer, Anthropic.Message>
  // The official client throws `error` events, so it has no type for them.
  event: Known<Omit<WireStreamEvent, 'error'>, Anthropic.RawMessageStreamEvent>
  block: Known<WireBlock, Anthropic.ContentBlock>
  delta: Known<WireBlockDelta, Anthropic.RawContentBlockDelta>
  citation: Known<WireCitation, Anthropic.TextCitation>
  usage: Known<WireUsage, Anthropic.Usage>
} = { answer: true, event: true, block: true, delta: true, citation: true, usage: true }
