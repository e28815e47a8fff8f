/**
 * Checked by the compiler alone: what we write is what the official client would let us write, and
 * every field we read is one that the official client knows.
 */

import type Anthropic from '@anthropic-ai/sdk'
import type {
  MessagesRequest, WireAnswer, WireBlock, WireBlockDelta, WireCitation, WireStreamEvent, WireUsage
} from '../../lib/providers/anthropic/wire.ts'

type KeysOfAny<T> = T extends unknown ? keyof T : never
/** Compiles only when every field of ours is a field of one of theirs. */
type Known<Ours, Theirs> = Exclude<keyof Ours, KeysOfAny<Theirs>> extends never ? true : never

export function official (request: MessagesRequest): Anthropic.MessageCreateParams {
  return request
}

export const known: {
  answer: Known<WireAnswer, Anthropic.Message>
  // An `error` is an event of the stream that the official client throws, so it has no type there.
  event: Known<Omit<WireStreamEvent, 'error'>, Anthropic.RawMessageStreamEvent>
  block: Known<WireBlock, Anthropic.ContentBlock>
  delta: Known<WireBlockDelta, Anthropic.RawContentBlockDelta>
  citation: Known<WireCitation, Anthropic.TextCitation>
  usage: Known<WireUsage, Anthropic.Usage>
} = { answer: true, event: true, block: true, delta: true, citation: true, usage: true }
