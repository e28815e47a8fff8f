/** Runs the text filters on an answer and replaces their findings, before its caller gets it. */

import { GatewayError } from '../core/errors.ts'
import { HeldTexts } from '../guards/held-texts.ts'
import { TextFilters, type TextStages } from '../guards/text-filter.ts'
import { everywhere, text } from '../json/place-table.ts'
import { flatMap, once, type Stage } from '../pipeline/stage.ts'
import type { Batch } from '../core/batch.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ChatEvent } from '../core/events.ts'
import type { DirectTexts } from '../dialects/dialect.ts'

/** Text that is held by any stream: the arguments of a tool may be longer. */
const uncountedBytes = 64 * 1024
/** The most that may be held; arguments that are longer are a fault of the provider. */
const maxHeldBytes = 32 * 1024 * 1024

/**
 * Replaces what the stages find in the answers of another stage: batches come out with the events that are
 * decided. The first comes once there is something for the caller to see, so that an answer which is refused
 * before that has a status.
 *
 * @param direct the texts of answers that pass as they came
 * @throws GatewayError for a finding that refuses the call; else what `answer` throws, with its words
 *   replaced
 */
export function answerTexts<R> (
  stages: TextStages, direct: DirectTexts | undefined, answer: Stage<RoutedCall<R>, Batch<R, ChatEvent>>
): Stage<RoutedCall<R>, Batch<R, ChatEvent>> {
  return flatMap(call => {
    const filters = new TextFilters(stages, call, 'answer')
    const batches = answer(once(call))
    return filters.isEmpty ? batches : filtered(batches, call, filters, direct)
  })
}

async function* filtered<R> (
  source: AsyncIterable<Batch<R, ChatEvent>>,
  { takeMemory }: RoutedCall<R>,
  filters: TextFilters,
  direct: DirectTexts | undefined
): AsyncGenerator<Batch<R, ChatEvent>, void, undefined> {
  const held = new HeldTexts(filters, direct)
  const batches = source[Symbol.asyncIterator]()
  let last: Batch<R, ChatEvent> | undefined
  let events: ChatEvent[] = []
  let isBegun = false
  let countedBytes = 0
  let failure: { readonly error: unknown } | undefined
  const taken = (batch: Batch<R, ChatEvent>): Batch<R, ChatEvent> => {
    const decided = events
    events = []
    isBegun = true
    return { ...batch, events: decided }
  }
  try {
    while (failure === undefined) {
      let step: IteratorResult<Batch<R, ChatEvent>, unknown> | undefined
      try {
        step = await batches.next()
      } catch (error) {
        failure = { error }
      }
      if (step === undefined || step.done === true) break
      last = step.value
      try {
        for (const event of last.events) held.push(event, events)
      } catch (error) {
        // What is decided goes out first, as what is read does before any other error.
        if (isBegun && events.length > 0) yield taken(last)
        throw error
      }
      const heldBytes = held.characters * 2
      if (heldBytes > maxHeldBytes) {
        throw new GatewayError('upstream_invalid_response', { message: "The provider's answer is too large." })
      }
      if (heldBytes > countedBytes + uncountedBytes) {
        takeMemory?.(heldBytes - countedBytes)
        countedBytes = heldBytes
      }
      if (isBegun ? events.length > 0 : events.some(isSeen)) yield taken(last)
    }
    held.end(events)
    if (
      last !== undefined &&
      events.length > 0 &&
      (isBegun || failure === undefined || events.some(isSeen))
    ) {
      yield taken(last)
    }
  } finally {
    await batches.return?.()
  }
  if (failure !== undefined) throw withReplacedWords(failure.error, filters)
}

/** Returns whether a caller sees output in an event. */
function isSeen (event: ChatEvent): boolean {
  return event.type !== 'response-start' && !(event.type === 'direct-frame' && event.isHead === true)
}

/** Providers may repeat in an error what they were sent, or have said. */
function withReplacedWords (error: unknown, { replace }: TextFilters): unknown {
  if (!(error instanceof GatewayError)) return error
  const message = replace(error.message, text)
  const { original } = error
  const body = original === undefined ? undefined : replacedBody(original.body, replace)
  if (message === error.message && body === original?.body) return error
  return error.with({
    message,
    ...original !== undefined && body !== undefined && { original: { ...original, body } }
  })
}

function replacedBody (body: string, replace: TextFilters['replace']): string {
  try {
    return everywhere(undefined).replaceIn(body, replace)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return replace(body, text)
  }
}
