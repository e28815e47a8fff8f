/** Answers a call from the cache if an equal call was answered before; otherwise caches the new answer. */

import { abortable } from '../async/cancellation.ts'
import { AnswerRecorder, replayedAnswer } from '../cache/recorded-answer.ts'
import { extend, type RoutedCall } from '../core/call.ts'
import { GatewayError, asGatewayError } from '../core/errors.ts'
import { once } from '../pipeline/sources.ts'
import { flatMap, type Stage } from '../pipeline/stage.ts'
import type { AnswerCache } from '../cache/answer-cache.ts'
import type { CacheTerms } from '../cache/cache-terms.ts'
import type { RequestDigest } from '../cache/entries.ts'
import type { Flight } from '../cache/flight.ts'
import type { ChatInput } from '../chat/input.ts'
import type { Batch } from '../core/batch.ts'
import type { ChatEvent } from '../core/events.ts'

type Answer<R> = Stage<RoutedCall<R>, Batch<R, ChatEvent>>

export interface CachedAnswerOptions {
  /**
   * Returns true for a call whose answer is stored, to be fetched or continued later. Default: false for
   * every call.
   */
  readonly isStored?: ((call: RoutedCall<ChatInput>) => boolean) | undefined
}

/**
 * Answers calls from the cache: one call in, its answer out, exactly as `answer` gave it to the first of
 * equal calls. Equal calls that arrive in the meantime wait for it. If it fails, one of them calls the
 * provider.
 *
 * @param cache absent: no answers are cached
 * @throws what `answer` throws; a failed answer is never kept
 */
export function cachedAnswer<R extends ChatInput> (
  cache: AnswerCache | undefined,
  answer: Answer<R>,
  { isStored = () => false }: CachedAnswerOptions = {}
): Answer<R> {
  if (cache === undefined) return answer
  return flatMap(call => {
    const terms = isStored(call) ? undefined : cache.termsOf(call)
    if (terms !== undefined) return answerWithLookup(call, cache, terms, answer)
    call.record.routing.cache = 'bypass'
    return answer(once(call))
  })
}

async function* answerWithLookup<R extends ChatInput> (
  call: RoutedCall<R>,
  cache: AnswerCache,
  terms: CacheTerms,
  answer: Answer<R>
): AsyncGenerator<Batch<R, ChatEvent>, void, undefined> {
  const digest = cache.digestOf(call, terms)
  const begin = (): Flight | undefined =>
    terms.ttlMs > 0 ? cache.begin(digest, call.request.stream === true) : undefined
  const found = terms.maxAgeMs > 0 ? await find(call, cache, digest, terms.maxAgeMs, begin) : begin()
  const isHit = found !== undefined && 'events' in found
  call.record.routing.cache = isHit ? 'hit' : 'miss'
  if (isHit) yield found
  else yield * answerAndRecord(call, answer, new AnswerRecorder<R>(cache.maxLength), found, text => {
    if (terms.ttlMs > 0) cache.set(digest, text, terms.ttlMs)
  })
}

/**
 * Looks up the answer, and waits for one that is in flight. Where there is neither, registers this call's
 * answer as in flight, before another call can.
 */
async function find<R extends ChatInput> (
  call: RoutedCall<R>,
  cache: AnswerCache,
  digest: RequestDigest,
  maxAgeMs: number,
  begin: () => Flight | undefined
): Promise<Batch<R, ChatEvent> | Flight | undefined> {
  const { record, request, signal } = call
  const startedAtMs = performance.now()
  let isKept = false
  try {
    for (;;) {
      const text = await cache.get(digest)
      signal.throwIfAborted()
      const batch = text === undefined ? undefined : replayedAnswer(text, call, maxAgeMs)
      if (batch !== undefined) {
        noteHit(batch)
        return batch
      }
      const flight = cache.flight(digest, request.stream === true)
      if (flight === undefined) return begin()
      // Wait only once: otherwise equal calls could queue forever.
      if (isKept) return undefined
      const end = await flight.wait(signal)
      if (end === 'uncached') return undefined
      isKept = end === 'cached'
    }
  } finally {
    record.times.upstreamWaitMs += performance.now() - startedAtMs
  }
}

/** Records an answer from the cache, for which no provider was paid. */
function noteHit ({ call: { record, request }, route, events }: Batch<ChatInput, ChatEvent>): void {
  record.request.isStreamed = request.stream === true
  record.routing.modelId = route.modelId
  record.routing.providerId = route.providerId
  for (const event of events) {
    if (event.type === 'tool-call-start' && event.id !== '') (record.tools.callIds ??= []).push(event.id)
  }
}

/**
 * Passes the answer on and stores it. It is read to its end even if its caller has left, as long as others
 * wait for it.
 *
 * @param flight started by the call. Default: nobody waits for the answer
 */
async function* answerAndRecord<R extends ChatInput> (
  call: RoutedCall<R>,
  answer: Answer<R>,
  recorder: AnswerRecorder<R>,
  flight: Flight | undefined,
  keep: (text: string) => void
): AsyncGenerator<Batch<R, ChatEvent>, void, undefined> {
  const sent = flight === undefined ? call : extend(call, { signal: flight.signal })
  let batches: AsyncIterator<Batch<R, ChatEvent>> | undefined
  let isOver = false
  let finish = (): void => undefined
  const finished = new Promise<void>(resolve => { finish = resolve })
  const end = (isComplete: boolean): void => {
    isOver = true
    const text = isComplete ? recorder.text() : undefined
    if (text !== undefined) keep(text)
    flight?.end(text !== undefined ? 'cached' : isComplete ? 'uncached' : 'failed')
  }
  const read = async (): Promise<Batch<R, ChatEvent> | undefined> => {
    try {
      batches ??= answer(once(sent))[Symbol.asyncIterator]()
      const { done, value } = await batches.next()
      if (done === true) {
        end(true)
        return undefined
      }
      recorder.add(value, sent)
      if (recorder.hasGivenUp) flight?.end('uncached') // nobody has to wait while its caller reads slowly
      return value
    } catch (error) {
      end(false)
      throw error
    }
  }
  let reading: ReturnType<typeof read> | undefined
  const leave = (): void => {
    if (flight !== undefined) leaveFlight(flight, call, finished)
  }
  if (flight !== undefined) call.signal.addEventListener('abort', leave, { once: true })
  if (call.signal.aborted) leave()
  try {
    for (;;) {
      reading = read()
      // The signal of the flight does not abort while others wait.
      const batch = await (flight === undefined ? reading : abortable(reading, call.signal))
      if (batch === undefined) break
      yield batch
    }
  } finally {
    try {
      if (!isOver && flight?.isAwaited === true) {
        leave()
        void readToEnd(reading, read, call).then(finish)
      } else {
        if (!isOver) end(false)
        // Under a budget, the answer is read to its end without the caller: the row waits for its usage.
        // Ignore errors: the caller has left.
        try {
          await reading?.catch(() => undefined)
          await batches?.return?.()
        } finally {
          finish()
        }
      }
    } finally {
      call.signal.removeEventListener('abort', leave) // until here the call may end, and with it the request
    }
  }
}

/**
 * Continues the answer for the calls that wait for it, without the caller of this one.
 *
 * @param finished resolves when it has been read: for an answer that is not kept, the flight may end earlier
 */
function leaveFlight (
  flight: Flight,
  { record, signal }: RoutedCall<ChatInput>,
  finished: Promise<void>
): void {
  if (flight.isAwaited) record.end.whenUsageKnown = finished
  flight.leave(signal.reason ?? new GatewayError('client_closed_request'))
}

/** @param reading the pending read for the caller */
async function readToEnd<R extends ChatInput> (
  reading: Promise<Batch<R, ChatEvent> | undefined> | undefined,
  read: () => Promise<Batch<R, ChatEvent> | undefined>,
  { record }: RoutedCall<R>
): Promise<void> {
  try {
    let batch = await reading
    while (batch !== undefined) batch = await read()
  } catch (error) {
    // One of the waiting calls tries again. Guards have not inspected the message of the error.
    record.end.cause ??= asGatewayError(error).code
  }
}
